#include "tools/gpu-check/Inputs.h"

using namespace dgc::rt;

HostArray makeInput(DType dtype, const std::vector<int64_t> &shape, uint64_t limit, int step) {
  HostArray array{dtype, shape, {}};
  size_t count = 1, size = sizeOf(dtype);
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  array.bytes.resize(count * size);
  if (limit == 0)
    limit = dtype == DType::U8 && shape.size() > 1 ? 251 : 8;
  for (size_t i = 0; i < count; ++i) {
    size_t mixed = (i * 7919 + static_cast<size_t>(step) * 104729 + 13) % 1009;
    std::byte *at = array.bytes.data() + i * size;
    auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    double real = static_cast<double>(mixed) / 504.5 - 1;
    if (dtype == DType::F32)
      put(static_cast<float>(real));
    else if (dtype == DType::F64)
      put(real);
    else if (dtype == DType::BF16)
      put(toBF16(static_cast<float>(real)));
    else if (dtype == DType::F16)
      put(toF16(static_cast<float>(real)));
    else if (dtype == DType::I1)
      put(static_cast<uint8_t>(mixed % 2));
    else {
      uint64_t whole = mixed % (dtype == DType::I8 ? std::min<uint64_t>(limit, 128) : limit);
      std::memcpy(at, &whole, size);
    }
  }
  return array;
}
