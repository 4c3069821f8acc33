// Finds scales, weights and biases behind the float operands of a QDQ graph.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/interpreter/interpreter.h"
#include "graph/passes/qdq.h"
#include "runtime/core/narrow.h"
#include "runtime/core/quantized_dtype.h"
#include "runtime/kernels/bytes/requantize.h"

namespace wick::ir {
namespace {

bool all_zero(const HostTensor& t) {
  const auto* bytes = static_cast<const char*>(t.data());
  return std::all_of(bytes, bytes + t.nbytes(), [](char c) { return c == 0; });
}

HostTensor permuted(const HostTensor& t, const DimList& perm) {
  const TransposeAttrs a{perm};
  return run_node(OpId::kTranspose, &a, {&t, 1}, 1)[0];
}

bool are_scales(const HostTensor& t) {
  return std::all_of(t.as<float>(), t.as<float>() + t.numel(), is_scale);
}

}  // namespace

std::string Lowering::name_of(ValueId v) const {
  if (v == kNoValue) return "nothing";
  const Value& value = g_.value(v);
  if (value.origin == ValueOrigin::kNode) return node_text(g_, value.producer);
  return "'" + value.name + "'";
}

ValueId Lowering::zero_of(DType t) {
  const auto [at, fresh] = zeros_.emplace(t, kNoValue);
  if (fresh) at->second = g_.add_constant(HostTensor(t, Shape{}));
  return at->second;
}

ValueId Lowering::as_bytes(ValueId v) {
  if (v == kNoValue || !g_.is_constant(v)) return v;
  const DType from = g_.value(v).dtype;
  if (from != DType::kI4 && from != DType::kU4) return v;
  const auto [at, fresh] = widened_.emplace(v, kNoValue);
  if (fresh) {
    const HostTensor t = g_.value(v).constant;
    HostTensor bytes(from == DType::kI4 ? DType::kI8 : DType::kU8, t.shape());
    for (int64_t i = 0; i < t.numel(); ++i) {
      const auto value = static_cast<int>(narrow_at(from, t.data(), i));
      bytes.as<uint8_t>()[i] = static_cast<uint8_t>(value);
    }
    const std::string name = g_.value(v).name;
    const bool parameter = g_.value(v).parameter && !name.empty();
    at->second = g_.add_constant(std::move(bytes), name.empty() ? "" : name + ".bytes", parameter);
  }
  return at->second;
}

std::optional<ByteType> Lowering::type_of(ValueId scale, ValueId zero, DType dtype,
                                          std::string* why) {
  const auto no = [&](const std::string& text) {
    *why = text;
    return std::nullopt;
  };
  if (!is_byte(dtype)) return no(std::string("quantized to ") + dtype_name(dtype) + ", not bytes");
  if (!g_.is_constant(scale)) return no("the scale is computed");
  if (g_.value(scale).dtype != DType::kF32)
    return no(std::string("the scale is ") + dtype_name(g_.value(scale).dtype));
  if (g_.value(scale).constant.numel() != 1) return no("the scale is one of each channel");
  if (!are_scales(g_.value(scale).constant)) return no("the scale is not finite and > 0");
  ByteType t{scale, zero, g_.value(scale).constant.as<float>()[0], 0, dtype};
  if (zero == kNoValue) {
    t.zero = zero_of(dtype);
  } else if (!g_.is_constant(zero)) {
    return no("the zero point is computed");
  } else if (g_.value(zero).constant.numel() != 1 || g_.value(zero).dtype != dtype) {
    return no("the zero point is not one byte");
  } else {
    t.z = byte_value(g_.value(zero).constant, 0);
  }
  return t;
}

std::optional<ByteType> Lowering::target_of(const Node& n, std::string* why) {
  const auto& a = n.attrs.as<QuantizeAttrs>();
  if (a.block_size != 0 || a.saturate == 0 ||
      (a.precision != 0 && a.precision != static_cast<int64_t>(DType::kF32))) {
    *why = "its QuantizeLinear has blocks, no saturation or another precision";
    return std::nullopt;
  }
  return type_of(n.inputs[1], input_or_none(n, 2), g_.value(n.outputs[0]).dtype, why);
}

std::optional<Bytes> Lowering::bytes_of(ValueId v, std::string* why) {
  const Node* n = producer_of(g_, v);
  if (n == nullptr || n->op != OpId::kDequantizeLinear) {
    *why = "its input is not quantized: " + name_of(v);
    return std::nullopt;
  }
  if (n->attrs.as<DequantizeAttrs>().block_size != 0 || g_.value(v).dtype != DType::kF32) {
    *why = "its input is quantized in blocks, or no float32";
    return std::nullopt;
  }
  const ValueId q = n->inputs[0];
  std::string text;
  auto type = type_of(n->inputs[1], input_or_none(*n, 2), g_.value(q).dtype, &text);
  if (!type) {
    *why = "of its input " + text;
    return std::nullopt;
  }
  return Bytes{q, *type};
}

std::optional<ByteWeight> Lowering::weight_of(ValueId v, int64_t channel_axis, bool transpose,
                                              std::string* why) {
  const auto no = [&](const std::string& text) {
    *why = "its weight " + text;
    return std::nullopt;
  };
  // Follows transposes between the bytes and the layer: perm[i] is the bytes' axis that is axis i
  // here.
  const Value& seen = g_.value(v);
  if (!seen.ranked) return no("has no known rank");
  const int rank = seen.shape.rank();
  DimList perm;
  for (int i = 0; i < rank; ++i) perm.values[perm.count++] = i;
  const auto behind = [&](const DimList& outer) {
    DimList both;
    for (int64_t k = 0; k < perm.count; ++k) both.values[both.count++] = outer[perm[k]];
    perm = both;
  };
  const Node* n = producer_of(g_, v);
  for (; n != nullptr && n->op == OpId::kTranspose; n = producer_of(g_, n->inputs[0]))
    behind(full_perm(*n, rank));
  if (n == nullptr || n->op != OpId::kDequantizeLinear) return no("is not quantized");
  const auto& a = n->attrs.as<DequantizeAttrs>();
  const ValueId scale = n->inputs[1];
  if (!g_.is_constant(n->inputs[0])) return no("is no constant");
  if (a.block_size != 0) return no("is quantized in blocks");
  const ValueId q = as_bytes(n->inputs[0]), zero = as_bytes(input_or_none(*n, 2));
  const DType dtype = g_.value(q).dtype;
  if (!is_byte(dtype)) return no(std::string("is ") + dtype_name(dtype) + ", not bytes");
  if (!g_.is_constant(scale) || (zero != kNoValue && !g_.is_constant(zero)))
    return no("has computed scales");
  const HostTensor& s = g_.value(scale).constant;
  if (s.dtype() != DType::kF32) return no(std::string("has scales of ") + dtype_name(s.dtype()));
  if (!are_scales(s)) return no("has scales that are not finite and > 0");
  if (zero != kNoValue &&
      (g_.value(zero).dtype != dtype || g_.value(zero).constant.numel() != s.numel()))
    return no("has zero points that are not its scales'");
  if (s.numel() != 1) {
    const int64_t stored = a.axis < 0 ? a.axis + rank : a.axis;
    const int64_t want = perm[channel_axis < 0 ? channel_axis + rank : channel_axis];
    if (stored != want) {
      return no("has its scales along axis " + std::to_string(stored) +
                ", where the outputs are axis " + std::to_string(want));
    }
  }
  if (transpose) {
    DimList swapped = perm;
    std::swap(swapped.values[0], swapped.values[1]);
    perm = swapped;
  }
  ByteWeight w{q, scale, zero};
  if (zero == kNoValue || all_zero(g_.value(zero).constant)) w.zero = zero_of(dtype);
  bool moved = false;
  std::string key;
  for (int64_t k = 0; k < perm.count; ++k) {
    moved = moved || perm[k] != k;
    key += static_cast<char>('0' + perm[k]);
  }
  if (moved) {
    const auto [at, fresh] = transposed_.emplace(std::make_pair(q, key), kNoValue);
    if (fresh) {
      const std::string name = g_.value(q).name;
      const bool parameter = g_.value(q).parameter && !name.empty();
      HostTensor t = permuted(g_.value(q).constant, perm);
      at->second =
          g_.add_constant(std::move(t), name.empty() ? "" : name + ".transposed", parameter);
    }
    w.q = at->second;
  }
  return w;
}

std::optional<ValueId> Lowering::bias_of(ValueId bias, int64_t n, float x_scale, ValueId w_scale,
                                         std::string* why) {
  if (bias == kNoValue) return kNoValue;
  const HostTensor ws = g_.value(w_scale).constant;
  const auto unit = [&](int64_t i) { return x_scale * ws.as<float>()[ws.numel() == 1 ? 0 : i]; };
  HostTensor reals;
  const Node* from = producer_of(g_, bias);
  if (from != nullptr && from->op == OpId::kDequantizeLinear) {
    const ValueId q = from->inputs[0], scale = from->inputs[1], zero = input_or_none(*from, 2);
    if (!g_.is_constant(q) || !g_.is_constant(scale) ||
        (zero != kNoValue && !g_.is_constant(zero))) {
      *why = "its bias is computed";
      return std::nullopt;
    }
    const HostTensor &t = g_.value(q).constant, &s = g_.value(scale).constant;
    const bool one = t.numel() == 1;  // one for all channels
    bool same = t.dtype() == DType::kI32 && (one || t.numel() == n) && s.dtype() == DType::kF32 &&
                (s.numel() == 1 || s.numel() == n) &&
                (zero == kNoValue || all_zero(g_.value(zero).constant));
    for (int64_t i = 0; same && i < n; ++i) {  // as exactly as float32 represents the product
      const float given = s.as<float>()[s.numel() == 1 ? 0 : i];
      same = std::fabs(given - unit(i)) <= 0x1p-20F * unit(i);
    }
    if (same && t.numel() == n && t.shape().rank() == 1) return q;
    if (same && t.numel() == n) return g_.add_constant(t.reshaped(Shape{n}));
    if (same) {
      HostTensor each(DType::kI32, Shape{n});
      std::fill_n(each.as<int32_t>(), n, *t.as<int32_t>());
      return g_.add_constant(std::move(each));
    }
    std::vector<HostTensor> in = {t, s};
    if (zero != kNoValue) in.push_back(g_.value(zero).constant);
    reals = run_node(OpId::kDequantizeLinear, from->attrs.get(), in, 1)[0];
  } else if (g_.is_constant(bias)) {
    reals = g_.value(bias).constant;
  } else {
    *why = "its bias is computed";
    return std::nullopt;
  }
  if (reals.dtype() != DType::kF32 || (reals.numel() != n && reals.numel() != 1)) {
    *why =
        std::string("its bias is ") + dtype_name(reals.dtype()) + " " + to_text(reals.shape()).text;
    return std::nullopt;
  }
  HostTensor whole(DType::kI32, Shape{n});
  for (int64_t i = 0; i < n; ++i) {
    const float b = reals.as<float>()[reals.numel() == 1 ? 0 : i], u = unit(i),
                steps = std::nearbyintf(b / u);
    if (!(std::fabs(steps) < 0x1p31F) || steps * u != b) {
      *why = "its bias is float32 and no whole multiple of x_scale * w_scale (channel " +
             std::to_string(i) + ")";
      return std::nullopt;
    }
    whole.as<int32_t>()[i] = static_cast<int32_t>(steps);
  }
  std::string key(reinterpret_cast<const char*>(&x_scale), sizeof(x_scale));
  key += std::to_string(w_scale);
  const auto [at, fresh] = biases_.emplace(std::make_pair(bias, key), kNoValue);
  if (fresh) at->second = g_.add_constant(std::move(whole));
  return at->second;
}

}  // namespace wick::ir
