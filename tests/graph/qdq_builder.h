// QDQ graphs of a few nodes.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"

namespace wick::ir {

// A scale and a zero point.
struct Step {
  float scale;
  int zero;
  DType dtype = DType::kU8;
};

class QdqBuilder {
 public:
  Graph g;

  ValueId byte(int v, DType t) {
    HostTensor z(t, Shape{});
    *z.as<uint8_t>() = static_cast<uint8_t>(v);
    return g.add_constant(std::move(z));
  }
  ValueId number(float v) { return g.add_constant(HostTensor::of<float>(Shape{}, {v})); }
  ValueId numbers(const std::vector<float>& v) {
    return g.add_constant(HostTensor::of<float>(Shape{static_cast<int64_t>(v.size())}, v));
  }
  ValueId input(const std::string& name, const Shape& shape, DType t = DType::kF32) {
    return g.add_input(name, t, to_symbolic(shape));
  }
  ValueId quantize(ValueId x, Step s, const std::string& name = "") {
    return g.emit(OpId::kQuantizeLinear, QuantizeAttrs{},
                  {x, number(s.scale), byte(s.zero, s.dtype)}, name);
  }
  ValueId dequantize(ValueId q, Step s) {
    return g.emit(OpId::kDequantizeLinear, DequantizeAttrs{},
                  {q, number(s.scale), byte(s.zero, s.dtype)});
  }
  // There and back.
  ValueId pair(ValueId x, Step s, const std::string& name = "") {
    return dequantize(quantize(x, s, name), s);
  }
  // Bytes that fill their range, behind DequantizeLinear with a scale for each index of `axis`.
  int weight_bits = 8;
  ValueId weight(const Shape& shape, const std::vector<float>& scales, int64_t axis = 0,
                 int seed = 1, DType t = DType::kI8, int zero = 0) {
    HostTensor q(t, shape);
    for (int64_t i = 0; i < q.numel(); ++i)
      q.as<uint8_t>()[i] =
          static_cast<uint8_t>(((i * 37 + seed * 101) % 255 - 127) / (1 << (8 - weight_bits)));
    DequantizeAttrs a;
    a.axis = axis;
    const ValueId bytes = g.add_constant(std::move(q), "weight" + std::to_string(seed), true);
    const ValueId scale = scales.size() == 1 ? number(scales[0]) : numbers(scales);
    if (zero == 0) return g.emit(OpId::kDequantizeLinear, a, {bytes, scale});
    HostTensor zeros(t, scales.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(scales.size())});
    for (int64_t i = 0; i < zeros.numel(); ++i) zeros.as<uint8_t>()[i] = static_cast<uint8_t>(zero);
    return g.emit(OpId::kDequantizeLinear, a, {bytes, scale, g.add_constant(std::move(zeros))});
  }
  ValueId bias(float x_scale, const std::vector<float>& w_scales, int64_t n) {
    HostTensor q(DType::kI32, Shape{n});
    std::vector<float> scales;
    for (int64_t i = 0; i < n; ++i) {
      q.as<int32_t>()[i] = static_cast<int32_t>(i * 977 % 3001 - 1500);
      scales.push_back(x_scale * w_scales[w_scales.size() == 1 ? 0 : static_cast<size_t>(i)]);
    }
    DequantizeAttrs a;
    a.axis = 0;
    return g.emit(OpId::kDequantizeLinear, a, {g.add_constant(std::move(q)), numbers(scales)});
  }
};

inline HostTensor wave(const Shape& shape, float size, int seed = 0) {
  HostTensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = size * std::sin(0.731F * static_cast<float>(i) + static_cast<float>(seed));
  return t;
}

inline int count_of(const Graph& g, OpId op) {
  int n = 0;
  for (const Node& node : g.nodes()) n += node.op == op ? 1 : 0;
  return n;
}

}  // namespace wick::ir
