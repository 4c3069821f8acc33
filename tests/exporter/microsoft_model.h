// Models of one node of com.microsoft.
#pragma once

#include "tests/exporter/node_model.h"

namespace wick::test {

inline HostTensor bytes(Shape shape, int seed) {
  HostTensor t(DType::kU8, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<uint8_t>()[i] = static_cast<uint8_t>((i * 37 + seed * 101) % 256);
  return t;
}
inline HostTensor u8(std::vector<uint8_t> v) {
  return HostTensor::of<uint8_t>({int64_t(v.size())}, v);
}
inline HostTensor byte(uint8_t v) { return HostTensor::of<uint8_t>({}, {v}); }
inline HostTensor number(float v) { return HostTensor::of<float>({}, {v}); }
inline HostTensor i32(Shape shape, std::vector<int32_t> v) {
  return HostTensor::of<int32_t>(shape, v);
}

inline NodeModel microsoft(const std::string& op) {
  return NodeModel(op, 17).domain("com.microsoft");
}

}  // namespace wick::test
