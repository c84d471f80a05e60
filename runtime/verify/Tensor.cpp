#include "runtime/verify/Field.h"

using namespace dgc;
using namespace dgc::verify;

Tensor::Tensor(reference::Type type, size_t count) : type(type), count(count) {
  if (reference::isFloat(type)) {
    p.resize(count);
    q.resize(count);
    f.resize(count);
  } else {
    i.resize(count);
  }
}
