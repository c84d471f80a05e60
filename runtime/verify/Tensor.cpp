#include "runtime/verify/Field.h"

#include "runtime/device/reference/Scalar.h"

#include <algorithm>
#include <limits>

using namespace dgc;
using namespace dgc::verify;

Tensor::Tensor(reference::Type type, size_t count) : type(type), count(count) {
  if (reference::isFloat(type)) {
    p.assign(count, 0);
    q.assign(count, 0);
    f.assign(count, 0);
  } else {
    i.assign(count, 0);
  }
}

std::shared_ptr<Tensor> Tensor::uninitialized(reference::Type type, size_t count) {
  auto result = std::make_shared<Tensor>(type, 0);
  result->count = count;
  if (reference::isFloat(type)) {
    result->p.resize(count);
    result->q.resize(count);
    result->f.resize(count);
  } else {
    result->i.resize(count);
  }
  return result;
}

std::shared_ptr<Tensor> dgc::verify::tensorOf(reference::Type type, size_t count, const std::byte *bytes) {
  std::shared_ptr<Tensor> result = Tensor::uninitialized(type, count);
  for (size_t i = 0; i < count; ++i) {
    const reference::Value value = reference::loadElement(type, bytes + i * sizeOf(type));
    if (result->isFloat())
      result->set(i, fromDouble(value.f));
    else
      result->i[i] = value.i;
  }
  return result;
}

void dgc::verify::makeUndefined(Tensor &tensor, Undefined integers) {
  const Number none = fromDouble(std::numeric_limits<double>::quiet_NaN());
  std::fill(tensor.p.begin(), tensor.p.end(), none.p);
  std::fill(tensor.q.begin(), tensor.q.end(), none.q);
  std::fill(tensor.f.begin(), tensor.f.end(), none.f);
  const unsigned width = reference::widthOf(tensor.type);
  const int64_t most = width == 1 ? -1 : static_cast<int64_t>(~uint64_t{0} >> (65 - width));
  std::fill(tensor.i.begin(), tensor.i.end(), integers == Undefined::High ? most : width == 1 ? 0 : -most - 1);
}
