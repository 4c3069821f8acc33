// Attention and related operators against loops that follow the operators' documentation.
#include <gmock/gmock.h>

#include <limits>

#include "runtime/core/half.h"
#include "tests/exporter/node_model.h"
#include "tests/support/error_of.h"

namespace wick::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Case {
  std::string name;
  int64_t batch = 2, heads = 4, kv_heads = 2, queries = 3, keys = 5, past = 0, size = 4, v_size = 3;
  bool packed = false, causal = false;
  double scale = 0, softcap = 0;
  int64_t left = -1, right = -1, mode = 0;
  Shape mask = {};  // of rank 0: none
  bool bool_mask = false;
  std::vector<int64_t> valid = {};  // nonpad_kv_seqlen
  DType dtype = DType::kF32;
};

double at(const HostTensor& t, std::initializer_list<int64_t> index) {
  int64_t offset = 0;
  int d = 0;
  for (int64_t i : index) offset = offset * t.shape()[d++] + i;
  return element_as_double(t, offset);
}

// The mask at [b, h, i, j]: right-aligned broadcasting; past its end, -inf.
double mask_at(const Case& c, const HostTensor& m, std::initializer_list<int64_t> index) {
  int64_t offset = 0, total = c.past + c.keys;
  for (int d = 0; d < m.shape().rank(); ++d) {
    int64_t n = m.shape()[d], i = *(index.begin() + 4 - m.shape().rank() + d);
    if (d + 1 == m.shape().rank() && n < total) {
      if (i >= n) return -kInfinity;
      offset = offset * n + i;
    } else {
      offset = offset * n + (n == 1 ? 0 : i);
    }
  }
  double v = element_as_double(m, offset);
  return c.bool_mask ? (v != 0 ? 0 : -kInfinity) : v;
}

HostTensor packed(const HostTensor& x) {  // [B, H, S, n] as [B, S, H n]
  const Shape& s = x.shape();
  HostTensor y(x.dtype(), Shape{s[0], s[2], s[1] * s[3]});
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t n = i % s[3], t = i / s[3] % s[2], h = i / s[3] / s[2] % s[1],
            b = i / s[3] / s[2] / s[1];
    int64_t to = ((b * s[2] + t) * s[1] + h) * s[3] + n;
    if (x.dtype() == DType::kF64) {
      y.as<double>()[to] = x.as<double>()[i];
    } else {
      y.as<float>()[to] = x.as<float>()[i];
    }
  }
  return y;
}

void expect_attention(const Case& c) {
  SCOPED_TRACE(c.name);
  const int64_t total = c.past + c.keys;
  HostTensor q = floats({c.batch, c.heads, c.queries, c.size}, 1, c.dtype),
             k = floats({c.batch, c.kv_heads, c.keys, c.size}, 2, c.dtype),
             v = floats({c.batch, c.kv_heads, c.keys, c.v_size}, 3, c.dtype), past_k, past_v, mask,
             valid;
  if (c.past > 0) {
    past_k = floats({c.batch, c.kv_heads, c.past, c.size}, 4, c.dtype);
    past_v = floats({c.batch, c.kv_heads, c.past, c.v_size}, 5, c.dtype);
  }
  if (c.mask.rank() > 0) {
    mask = floats(c.mask, 6, c.dtype);
    if (c.bool_mask) {
      HostTensor bits(DType::kBool, c.mask);
      for (int64_t i = 0; i < bits.numel(); ++i)
        bits.as<uint8_t>()[i] = element_as_double(mask, i) > -0.2 ? 1 : 0;
      mask = bits;
    }
  }
  if (!c.valid.empty()) valid = whole({c.batch}, c.valid);
  NodeModel model("Attention", 25);
  for (const HostTensor* t : {&q, &k, &v}) model.in(c.packed ? packed(*t) : *t);
  model.in(mask).in(past_k).in(past_v).in(valid);
  if (c.packed) model.set("q_num_heads", c.heads).set("kv_num_heads", c.kv_heads);
  if (c.causal) model.set("is_causal", int64_t{1});
  if (c.scale != 0) model.set("scale", static_cast<float>(c.scale));
  if (c.softcap != 0) model.set("softcap", static_cast<float>(c.softcap));
  model.set("left_window_size", c.left).set("right_window_size", c.right);
  model.set("qk_matmul_output_mode", c.mode);
  std::vector<HostTensor> got = model.run(4);

  const auto key = [&](int64_t b, int64_t h, int64_t j, int64_t n) {
    return j < c.past ? at(past_k, {b, h, j, n}) : at(k, {b, h, j - c.past, n});
  };
  const auto value = [&](int64_t b, int64_t h, int64_t j, int64_t n) {
    return j < c.past ? at(past_v, {b, h, j, n}) : at(v, {b, h, j - c.past, n});
  };
  std::vector<double> y, shown, present_k, present_v;
  const double scale = c.scale != 0 ? c.scale : 1 / std::sqrt(static_cast<double>(c.size));
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t h = 0; h < c.heads; ++h) {
      const int64_t kv = h / (c.heads / c.kv_heads);
      for (int64_t i = 0; i < c.queries; ++i) {
        const int64_t offset = c.past > 0         ? c.past
                               : !c.valid.empty() ? c.valid[static_cast<size_t>(b)] - c.queries
                                                  : 0;
        std::vector<double> raw, capped, biased, weight;
        double sum = 0, largest = -kInfinity;
        for (int64_t j = 0; j < total; ++j) {
          double s = 0, bias = 0;
          for (int64_t n = 0; n < c.size; ++n) s += at(q, {b, h, i, n}) * key(b, kv, j, n) * scale;
          raw.push_back(s);
          capped.push_back(c.softcap != 0 ? c.softcap * std::tanh(s / c.softcap) : s);
          if (mask.present()) bias = mask_at(c, mask, {b, h, i, j});
          if (c.causal && j > i + offset) bias = -kInfinity;
          if (c.left >= 0 && j < i + offset - c.left) bias = -kInfinity;
          if (c.right >= 0 && j > i + offset + c.right) bias = -kInfinity;
          if (!c.valid.empty() && j >= c.valid[static_cast<size_t>(b)]) bias = -kInfinity;
          biased.push_back(capped.back() + bias);
          largest = std::fmax(largest, biased.back());
        }
        for (double s : biased) {
          weight.push_back(largest == -kInfinity ? 0 : std::exp(s - largest));
          sum += weight.back();
        }
        for (double& w : weight) w = sum == 0 ? 0 : w / sum;
        for (int64_t n = 0; n < c.v_size; ++n) {
          double read = 0;
          for (int64_t j = 0; j < total; ++j)
            read += weight[static_cast<size_t>(j)] * value(b, kv, j, n);
          y.push_back(read);
        }
        const std::vector<double>* modes[] = {&raw, &capped, &biased, &weight};
        shown.insert(shown.end(), modes[c.mode]->begin(), modes[c.mode]->end());
      }
    }
    for (int64_t h = 0; h < c.kv_heads; ++h) {
      for (int64_t j = 0; j < total; ++j) {
        for (int64_t n = 0; n < c.size; ++n) present_k.push_back(key(b, h, j, n));
        for (int64_t n = 0; n < c.v_size; ++n) present_v.push_back(value(b, h, j, n));
      }
    }
  }
  if (c.packed) {
    HostTensor flat = packed(HostTensor::of<double>({c.batch, c.heads, c.queries, c.v_size}, y));
    expect_near(got[0], {c.batch, c.queries, c.heads * c.v_size},
                std::vector<double>(flat.as<double>(), flat.as<double>() + flat.numel()));
  } else {
    expect_near(got[0], {c.batch, c.heads, c.queries, c.v_size}, y);
  }
  expect_near(got[1], {c.batch, c.kv_heads, total, c.size}, present_k, 0);
  expect_near(got[2], {c.batch, c.kv_heads, total, c.v_size}, present_v, 0);
  expect_near(got[3], {c.batch, c.heads, c.queries, total}, shown);
}

TEST(Attention, IsItsDocumentation) {
  expect_attention({.name = "grouped heads"});
  expect_attention({.name = "one key head", .kv_heads = 1});
  expect_attention({.name = "as many heads", .kv_heads = 4});
  expect_attention({.name = "packed", .packed = true});
  expect_attention({.name = "packed, cached", .past = 4, .packed = true, .causal = true});
  expect_attention({.name = "f64", .causal = true, .dtype = DType::kF64});
  expect_attention({.name = "scale and cap", .scale = 0.3, .softcap = 0.5, .mode = 1});
  expect_attention({.name = "raw scores beside a cap", .softcap = 0.5});
  expect_attention({.name = "negative scale", .scale = -0.3});
  expect_attention({.name = "causal", .queries = 5, .causal = true, .mode = 2});
  expect_attention({.name = "cached", .past = 3, .causal = true, .mode = 3});
  expect_attention({.name = "valid keys", .causal = true, .mode = 3, .valid = {5, 3}});
  expect_attention({.name = "fewer keys than queries", .causal = true, .mode = 3, .valid = {2, 0}});
  expect_attention({.name = "valid keys, no order", .valid = {1, 4}});
  expect_attention({.name = "window", .queries = 5, .left = 1, .right = 2});
  expect_attention({.name = "causal window", .past = 2, .causal = true, .left = 2, .right = 1});
  expect_attention({.name = "window of valid keys", .left = 0, .valid = {4, 5}});
  expect_attention({.name = "mask [q, k]", .mode = 2, .mask = {3, 5}});
  expect_attention({.name = "mask [k]", .mask = {5}});
  expect_attention({.name = "mask [h, 1, k]", .mask = {4, 1, 5}});
  expect_attention({.name = "mask [b, 1, q, k]", .causal = true, .mask = {2, 1, 3, 5}});
  expect_attention({.name = "mask [b, h, q, k]", .past = 2, .mask = {2, 4, 3, 7}});
  expect_attention({.name = "bool mask", .mask = {1, 4, 3, 5}, .bool_mask = true});
  expect_attention({.name = "short mask", .mode = 3, .mask = {3, 4}});
  expect_attention({.name = "short bool mask", .mode = 3, .mask = {2, 1, 1, 2}, .bool_mask = true});
  expect_attention({.name = "all of them",
                    .queries = 4,
                    .packed = true,
                    .causal = true,
                    .left = 2,
                    .mode = 3,
                    .mask = {4, 3},
                    .bool_mask = true,
                    .valid = {5, 2}});
  expect_attention({.name = "no batch", .batch = 0, .causal = true});
  expect_attention({.name = "no queries", .queries = 0, .causal = true});
}

HostTensor halves(const HostTensor& t) {
  HostTensor h(DType::kF16, t.shape());
  for (int64_t i = 0; i < t.numel(); ++i) h.as<Half>()[i] = Half(t.as<float>()[i]);
  return h;
}

TEST(Attention, DtypesMayDiffer) {
  HostTensor q = floats({1, 2, 3, 4}, 1), k = floats({1, 2, 3, 4}, 2), v = floats({1, 2, 3, 4}, 3);
  std::vector<HostTensor> want = NodeModel("Attention", 24).in(q).in(k).in(v).run(4);
  NodeModel half("Attention", 24);
  half.in(halves(q)).in(halves(k)).in(v).set("softmax_precision", int64_t{1});
  std::vector<HostTensor> got = half.set("qk_matmul_output_mode", int64_t{3}).run(4);
  EXPECT_EQ(got[0].dtype(), DType::kF16);
  EXPECT_EQ(got[1].dtype(), DType::kF16);
  EXPECT_EQ(got[2].dtype(), DType::kF32);
  EXPECT_EQ(got[3].dtype(), DType::kF16);
  std::vector<double> y;
  for (int64_t i = 0; i < want[0].numel(); ++i) y.push_back(element_as_double(want[0], i));
  expect_near(got[0], {1, 2, 3, 4}, y, 4e-3);
}

TEST(Attention, ContradictionsAreRefused) {
  HostTensor x = floats({1, 3, 4}, 1), y = floats({1, 3, 2, 4}, 1), few = floats({1, 2, 2, 4}, 1);
  auto why = [](const NodeModel& model) {
    auto bytes = model.bytes(false, 1);
    return error_of([&] { import_onnx_bytes(bytes); });
  };
  auto of = [](const HostTensor& q, const HostTensor& k, const HostTensor& v) {
    NodeModel model("Attention", 25);
    model.in(q).in(k).in(v);
    return model;
  };
  using testing::HasSubstr;
  EXPECT_EQ(why(of(x, x, x).set("q_num_heads", int64_t{2}).set("kv_num_heads", int64_t{2})),
            "no error");
  EXPECT_THAT(why(of(x, x, x)), HasSubstr("need q_num_heads"));
  EXPECT_THAT(why(of(x, x, x).set("q_num_heads", int64_t{3}).set("kv_num_heads", int64_t{3})),
              HasSubstr("does not divide by 3 heads"));
  EXPECT_THAT(why(of(x, y, y)), HasSubstr("rank 3 or all rank 4"));
  EXPECT_THAT(why(of(y, few, few)), HasSubstr("3 query heads cannot share 2 key heads"));
  EXPECT_THAT(why(of(y, y, y).in({}).in(y)), HasSubstr("past_key and past_value go together"));
  EXPECT_THAT(why(of(y, y, y).set("qk_matmul_output_mode", int64_t{4})), HasSubstr("0 to 3"));
  EXPECT_THAT(why(of(y, y, y).set("softmax_precision", int64_t{7})),
              HasSubstr("no floating-point type"));
  EXPECT_THAT(why(of(y, y, y).set("left_window_size", int64_t{-2})), HasSubstr("-1 or more"));
}

TEST(RotaryEmbedding, TurnsPairs) {
  for (bool is_packed : {false, true}) {
    for (bool interleaved : {false, true}) {
      for (int64_t part : {0, 2, 4}) {
        for (bool by_id : {false, true}) {
          const int64_t batch = 2, heads = 3, tokens = 4, size = 6;
          const int64_t turned = part == 0 ? size : part, half = turned / 2;
          SCOPED_TRACE(testing::Message() << is_packed << interleaved << part << by_id);
          HostTensor x = floats({batch, heads, tokens, size}, 1),
                     cosine = floats(by_id ? Shape{7, half} : Shape{batch, tokens, half}, 2),
                     sine = floats(cosine.shape(), 3),
                     ids = whole({2, 4}, {0, 6, 2, 1, 3, 3, 5, 4});
          NodeModel model("RotaryEmbedding", 23);
          model.in(is_packed ? packed(x) : x).in(cosine).in(sine);
          if (by_id) model.in(ids);
          if (interleaved) model.set("interleaved", int64_t{1});
          if (is_packed) model.set("num_heads", heads);
          HostTensor got = model.set("rotary_embedding_dim", part).run()[0];
          HostTensor want = x;
          for (int64_t i = 0; i < batch * heads * tokens; ++i) {
            const int64_t t = i % tokens, b = i / tokens / heads,
                          row = by_id ? ids.as<int64_t>()[b * tokens + t] : b * tokens + t;
            for (int64_t p = 0; p < half; ++p) {
              const int64_t first = i * size + (interleaved ? 2 * p : p),
                            second = i * size + (interleaved ? 2 * p + 1 : p + half);
              const float cs = cosine.as<float>()[row * half + p],
                          sn = sine.as<float>()[row * half + p], a = x.as<float>()[first],
                          z = x.as<float>()[second];
              want.as<float>()[first] = cs * a - sn * z;
              want.as<float>()[second] = sn * a + cs * z;
            }
          }
          if (is_packed) want = packed(want);
          std::vector<double> values(want.as<float>(), want.as<float>() + want.numel());
          expect_near(got, want.shape(), values, 1e-6);
        }
      }
    }
  }
}

TEST(CausalConv, LooksBackOnly) {
  for (int64_t taps : {1, 2, 4}) {
    for (int64_t length : {0, 1, 2, 6}) {
      for (bool past : {false, true}) {
        for (bool bias : {false, true}) {
          SCOPED_TRACE(testing::Message() << taps << " " << length << past << bias);
          const int64_t batch = 2, channels = 3;
          HostTensor x = floats({batch, channels, length}, 1), w = floats({channels, 1, taps}, 2),
                     b = floats({channels}, 3), before = floats({batch, channels, taps - 1}, 4);
          NodeModel model("CausalConvWithState", 27);
          model.in(x).in(w).in(bias ? b : HostTensor()).in(past ? before : HostTensor());
          if (bias) model.set("activation", std::string("silu"));
          std::vector<HostTensor> got = model.run(2);
          std::vector<double> y, state;
          for (int64_t row = 0; row < batch * channels; ++row) {
            const auto at = [&](int64_t t) -> double {  // counted from the first old value
              if (t >= taps - 1) return x.as<float>()[row * length + t - (taps - 1)];
              return past ? before.as<float>()[row * (taps - 1) + t] : 0;
            };
            for (int64_t t = 0; t < length; ++t) {
              double sum = bias ? b.as<float>()[row % channels] : 0;
              for (int64_t i = 0; i < taps; ++i)
                sum += at(t + i) * w.as<float>()[row % channels * taps + i];
              y.push_back(bias ? sum / (1 + std::exp(-sum)) : sum);
            }
            for (int64_t t = length; t < length + taps - 1; ++t) state.push_back(at(t));
          }
          expect_near(got[0], x.shape(), y);
          expect_near(got[1], before.shape(), state, 0);
        }
      }
    }
  }
}

TEST(TensorScatter, WritesFromThePlaceOfEachSample) {
  for (int64_t axis : {1, 2, -2, -1}) {
    for (bool circular : {false, true}) {
      for (bool places : {false, true}) {
        SCOPED_TRACE(testing::Message() << axis << circular << places);
        const int at = static_cast<int>(axis < 0 ? axis + 4 : axis);
        Shape shape = {2, 3, 5, 4}, part = shape;
        part[at] = 2;
        HostTensor cache = floats(shape, 1), update = floats(part, 2),
                   from = whole({2}, {circular ? shape[at] + 1 : 1, circular ? shape[at] - 1 : 0});
        NodeModel model("TensorScatter", 24);
        model.in(cache).in(update).in(places ? from : HostTensor()).set("axis", axis);
        model.set("mode", std::string(circular ? "circular" : "linear"));
        std::vector<double> want(cache.as<float>(), cache.as<float>() + cache.numel());
        for (int64_t i = 0; i < update.numel(); ++i) {
          int64_t index[4], rest = i, to = 0;
          for (int d = 3; d >= 0; rest /= part[d--]) index[d] = rest % part[d];
          if (places) index[at] += from.as<int64_t>()[index[0]];
          index[at] %= shape[at];
          for (int d = 0; d < 4; ++d) to = to * shape[d] + index[d];
          want[static_cast<size_t>(to)] = update.as<float>()[i];
        }
        expect_near(model.run()[0], shape, want, 0);
      }
    }
  }
  HostTensor cache = floats({2, 3}, 1);
  NodeModel nothing("TensorScatter", 24);
  nothing.in(cache).in(floats({2, 0}, 2)).in(whole({2}, {3, 1})).set("axis", int64_t{1});
  std::vector<double> same(cache.as<float>(), cache.as<float>() + 6);
  expect_near(nothing.run()[0], {2, 3}, same, 0);
  NodeModel past("TensorScatter", 24);  // a place outside is an error, not a write
  past.in(cache).in(floats({2, 2}, 2)).in(whole({2}, {0, 2})).set("axis", int64_t{1});
  EXPECT_THAT(error_of([&] { past.run(); }), testing::HasSubstr("ScatterElements"));
}

TEST(Swiglu, GatesWithSwish) {
  HostTensor a = floats({2, 5}, 1), b = floats({2, 5}, 2);
  for (float alpha : {1.0f, 0.5f, -2.0f}) {
    std::vector<double> want;
    for (int64_t i = 0; i < 10; ++i) {
      double x = a.as<float>()[i];
      want.push_back(x / (1 + std::exp(-static_cast<double>(alpha) * x)) * b.as<float>()[i]);
    }
    NodeModel model("SwiGLU", 28);
    expect_near(model.in(a).in(b).set("alpha", alpha).run()[0], {2, 5}, want);
  }
  auto bytes = NodeModel("SwiGLU", 28).in(a).in(floats({5}, 2)).bytes(false, 1);
  EXPECT_THAT(error_of([&] { import_onnx_bytes(bytes); }), testing::HasSubstr("one shape"));
}

// Written at the opset that has it, and read back the same.
TEST(LinearAttentionNode, RoundTrips) {
  NodeModel model("LinearAttention", 27);
  model.in(floats({2, 3, 8}, 1)).in(floats({2, 3, 4}, 2)).in(floats({2, 3, 6}, 3));
  model.in(floats({2, 2, 2, 3}, 4)).in(floats({2, 3, 2}, 5)).in(floats({2, 3, 1}, 6));
  model.set("q_num_heads", int64_t{4}).set("kv_num_heads", int64_t{2}).set("scale", 0.25f);
  model.set("chunk_size", int64_t{16});
  EXPECT_EQ(model.run(2)[1].shape()[3], 3);
  ir::Graph once = import_onnx_bytes(onnx_bytes(import_onnx_bytes(model.bytes(true, 2))));
  EXPECT_EQ(ir::print(import_onnx_bytes(onnx_bytes(once)), true), ir::print(once, true));
  EXPECT_THAT(ir::print(once, true), testing::HasSubstr("scale=0x1p-2"));
}

}  // namespace
}  // namespace wick::test
