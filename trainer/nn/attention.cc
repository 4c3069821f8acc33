#include "trainer/nn/attention.h"

#include <cmath>
#include <limits>

#include "trainer/nn/default_init.h"
#include "trainer/nn/init.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick::nn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor xavier(const Shape& shape) { return init::xavier_uniform_(empty(shape)); }

}  // namespace

AttentionResult attention_with_weights(const Arg& q, const Arg& k, const Arg& v, const Tensor& mask,
                                       double dropout_p, bool is_causal,
                                       std::optional<double> scale) {
  const At at(q);
  const char* name = "scaled_dot_product_attention";
  if (q.tensor.rank(q.where) < 2 || k.tensor.rank(k.where) < 2 || v.tensor.rank(v.where) < 2 ||
      dim_of(q.tensor, -1) != dim_of(k.tensor, -1) ||
      dim_of(k.tensor, -2) != dim_of(v.tensor, -2)) {
    bad_shape(name,
              "needs q[..., L, E], k[..., S, E], v[..., S, Ev], got " + text(q.tensor) + ", " +
                  text(k.tensor) + ", " + text(v.tensor),
              q.where);
  }
  if (is_causal && mask.defined())
    throw_error(name, "takes a mask or is_causal, not both", q.where);
  check_mask(name, mask, "visible", q.where);
  const int64_t rows = dim_of(q.tensor, -2), columns = dim_of(k.tensor, -2);
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(dim_of(q.tensor, -1))));
  Tensor scores = matmul(at(q * factor), at(mt(k.tensor, at))), seen = mask;
  if (is_causal) {
    seen = le(arange(columns).unsqueeze(0), arange(rows).unsqueeze(1));
    seen = moved_beside(q.tensor, seen, q.where);
  }
  if (seen.defined() && seen.dtype() == DType::kBool) {
    scores = where(at(seen), at(scores), at(full({}, -kInfinity, scores.dtype())));
  } else if (seen.defined()) {
    scores = at(scores) + at(seen);
  }
  Tensor weights = softmax(at(scores), -1);
  return {matmul(at(dropout(at(weights), dropout_p, dropout_p > 0)), v), weights};
}

Tensor create_causal_mask(SizeArg size) {
  return le(arange(size).unsqueeze(0), arange(size).unsqueeze(1));
}

Tensor generate_square_subsequent_mask(SizeArg size, DType dtype) {
  Tensor never = full({}, -kInfinity, dtype), seen = full({}, 0, dtype);
  return where(create_causal_mask(size), seen, never);
}

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                                       MultiheadAttentionOptions options)
    : embed_(embed_dim),
      heads_(num_heads),
      options_(options),
      out_proj(this, "out_proj", std::max<int64_t>(embed_dim, 0), std::max<int64_t>(embed_dim, 0),
               options.bias) {
  if (embed_dim < 1 || num_heads < 1 || embed_dim % num_heads != 0) {
    refuse("MultiheadAttention", "embed_dim " + std::to_string(embed_dim) +
                                     " does not divide into " + std::to_string(num_heads) +
                                     " heads");
  }
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    refuse("MultiheadAttention", "dropout must be in [0, 1]");
  }
  const int64_t e = embed_dim, k = options.kdim.value_or(e), v = options.vdim.value_or(e);
  if (k < 1 || v < 1) refuse("MultiheadAttention", "kdim and vdim must be positive");
  if (k == e && v == e) {
    in_proj_weight = register_parameter("in_proj_weight", xavier({3 * e, e}));
  } else {
    q_proj_weight = register_parameter("q_proj_weight", xavier({e, e}));
    k_proj_weight = register_parameter("k_proj_weight", xavier({e, k}));
    v_proj_weight = register_parameter("v_proj_weight", xavier({e, v}));
  }
  if (options.bias) {
    in_proj_bias = register_parameter("in_proj_bias", zeros({3 * e}));
    NoGrad guard;
    out_proj->bias.zero_();
  }
  if (!options.add_bias_kv) return;
  bias_k = register_parameter("bias_k", init::xavier_normal_(empty({1, 1, e})));
  bias_v = register_parameter("bias_v", init::xavier_normal_(empty({1, 1, e})));
}

MultiheadAttention::Projected MultiheadAttention::project(const Arg& query, const Tensor& q,
                                                          const Arg& key, const Tensor& k,
                                                          const Arg& value, const Tensor& v) const {
  const At at(query);
  const int64_t e = embed_;
  auto bias = [&](int64_t from, int64_t to) {
    return in_proj_bias.defined() ? in_proj_bias.slice(0, from * e, to * e, 1, query.where)
                                  : Tensor();
  };
  auto weight = [&](const Tensor& own, int64_t i) {
    return own.defined() ? own : in_proj_weight.slice(0, i * e, (i + 1) * e, 1, query.where);
  };
  if (in_proj_weight.defined() && query.tensor.is_same(key.tensor) &&
      key.tensor.is_same(value.tensor)) {
    std::vector<Tensor> all = chunk(at(linear(at(q), at(in_proj_weight), in_proj_bias)), 3, -1);
    return {all[0], all[1], all[2]};
  }
  return {linear(at(q), at(weight(q_proj_weight, 0)), bias(0, 1)),
          linear(at(k), at(weight(k_proj_weight, 1)), bias(1, 2)),
          linear(at(v), at(weight(v_proj_weight, 2)), bias(2, 3))};
}

Tensor MultiheadAttention::split(const Tensor& t, const Where& where) const {
  return reshape_to(t, {kCopy, kCopy, heads_, embed_ / heads_}, At(where))
      .permute({0, 2, 1, 3}, where);
}

Tensor MultiheadAttention::joined_mask(const Tensor& padding, const Tensor& mask, const Tensor& q,
                                       const Tensor& k, const Where& where) const {
  const At at(where);
  const int64_t n = dim_of(q, 0), rows = dim_of(q, 1), columns = dim_of(k, 1);
  Tensor m = mask, p = padding;
  for (const Tensor& each : {m, p}) check_mask("MultiheadAttention", each, "hidden", where);
  if (m.defined()) {
    const bool per_head = m.rank() == 3;
    const Shape want = per_head ? Shape{n * heads_, rows, columns} : Shape{rows, columns};
    if (!(m.raw_shape() == want)) {
      bad_shape("MultiheadAttention",
                "attn_mask must be " + std::string(to_text(Shape{rows, columns}).text) + " or " +
                    to_text(Shape{n * heads_, rows, columns}).text + ", got " + text(m),
                where);
    }
    if (per_head) m = m.reshape({n, heads_, rows, columns}, where);
  }
  if (p.defined()) {
    if (!(p.raw_shape() == Shape{n, columns})) {
      bad_shape("MultiheadAttention",
                "key_padding_mask must be " + std::string(to_text(Shape{n, columns}).text) +
                    ", got " + text(p),
                where);
    }
    p = p.unsqueeze(1, where).unsqueeze(1, where);
  }
  auto floats = [&](const Tensor& t) {
    if (t.dtype() != DType::kBool) return t.to(q.dtype(), where);
    return wick::where(at(t), at(full({}, -kInfinity, q.dtype())), at(full({}, 0, q.dtype())));
  };
  if (m.defined() && p.defined()) {
    const bool both = m.dtype() == DType::kBool && p.dtype() == DType::kBool;
    m = both ? logical_or(at(m), at(p)) : at(floats(m)) + at(floats(p));
  } else if (p.defined()) {
    m = p;
  }
  if (!m.defined()) return m;
  return m.dtype() == DType::kBool ? logical_not(at(m)) : floats(m);
}

AttentionResult MultiheadAttention::forward(const Arg& query, const Arg& key, const Arg& value,
                                            const Tensor& key_padding_mask, bool need_weights,
                                            const Tensor& attn_mask, bool average) {
  if (instead_)
    return instead_(query, key, value, key_padding_mask, need_weights, attn_mask, average);
  const Where& where = query.where;
  const At at(where);
  const int rank = query.tensor.rank(where);
  const bool batched = rank == 3;
  const int64_t kdim = options_.kdim.value_or(embed_), vdim = options_.vdim.value_or(embed_);
  if ((rank != 2 && rank != 3) || key.tensor.rank(key.where) != rank ||
      value.tensor.rank(value.where) != rank || dim_of(query.tensor, -1) != embed_ ||
      dim_of(key.tensor, -1) != kdim || dim_of(value.tensor, -1) != vdim) {
    bad_shape("MultiheadAttention",
              "takes query, key and value of sizes " + std::to_string(embed_) + ", " +
                  std::to_string(kdim) + " and " + std::to_string(vdim) + ", got " +
                  text(query.tensor) + ", " + text(key.tensor) + " and " + text(value.tensor),
              where);
  }
  auto batch_first = [&](const Tensor& t) {
    if (!batched) return t.unsqueeze(0, where);
    return options_.batch_first ? t : t.transpose(0, 1, where);
  };
  Tensor qs = batch_first(query.tensor), ks = batch_first(key.tensor),
         vs = batch_first(value.tensor);
  if (dim_of(ks, 1) != dim_of(vs, 1) || dim_of(qs, 0) != dim_of(ks, 0) ||
      dim_of(ks, 0) != dim_of(vs, 0)) {
    bad_shape("MultiheadAttention",
              "key and value must have one length, and all three one batch: " + text(query.tensor) +
                  ", " + text(key.tensor) + " and " + text(value.tensor),
              where);
  }
  Tensor padding = key_padding_mask;
  if (padding.defined() && !batched) padding = padding.unsqueeze(0, where);
  Tensor mask = joined_mask(padding, attn_mask, qs, ks, where);
  auto [q, k, v] = project(query, qs, key, ks, value, vs);
  const int64_t n = dim_of(k, 0);
  int64_t more = 0;  // keys that no mask covers
  if (bias_k.defined()) {
    k = cat({at(k), at(bias_k.expand({n, 1, embed_}, where))}, 1);
    v = cat({at(v), at(bias_v.expand({n, 1, embed_}, where))}, 1);
    ++more;
  }
  q = split(q, where);
  k = split(k, where);
  v = split(v, where);
  if (options_.add_zero_attn) {
    Tensor none = moved_beside(k, zeros({n, heads_, 1, embed_ / heads_}, k.dtype()), where);
    k = cat({at(k), at(none)}, 2);
    v = cat({at(v), at(none)}, 2);
    ++more;
  }
  if (mask.defined() && more > 0) {
    Shape extra = mask.raw_shape();
    extra[extra.rank() - 1] = more;
    const bool bools = mask.dtype() == DType::kBool;
    const Tensor seen = moved_beside(mask, full(extra, bools ? 1 : 0, mask.dtype()), where);
    mask = cat({at(mask), at(seen)}, -1);
  }
  const double p = training() ? options_.dropout : 0;
  AttentionResult r;
  if (need_weights) {
    r = attention_with_weights(at(q), at(k), at(v), mask, p);
    if (average) r.weights = mean(at(r.weights), 1);
    if (!batched) r.weights = r.weights.squeeze(0, where);
  } else {
    r.output = scaled_dot_product_attention(at(q), at(k), at(v), mask, p);
  }
  Tensor y = reshape_to(r.output.permute({0, 2, 1, 3}, where), {kCopy, kCopy, embed_}, at);
  y = out_proj(at(y));
  if (!batched) {
    r.output = y.squeeze(0, where);
  } else {
    r.output = options_.batch_first ? y : y.transpose(0, 1, where);
  }
  return r;
}

bool MultiheadAttention::takes_cache() const {
  return !instead_ && options_.batch_first && in_proj_weight.defined() && !bias_k.defined() &&
         !options_.add_zero_attn;
}

// Three products instead of one that is cut: a graph then keeps three weights and no Split.
Tensor MultiheadAttention::forward(const Arg& x, const Tensor& seen, KvStore& cache,
                                   int64_t layer) {
  const Where& where = x.where;
  const At at(where);
  if (!takes_cache()) {
    throw_error("MultiheadAttention",
                instead_ ? "its forward was replaced (its heads lie on several ranks), which takes "
                           "no cache: run the model on whole texts"
                         : "a cache needs batch_first, key and value of embed_dim, no add_bias_kv "
                           "and no add_zero_attn",
                where);
  }
  // Gradients would lack what flows through the keys and values of the cache, without a word.
  if (training() ||
      (grad_enabled() && (x.tensor.requires_grad() || in_proj_weight.requires_grad()))) {
    throw_error("MultiheadAttention",
                training() ? "a KV cache is for eval mode: call eval() first"
                           : "keys and values of a cache are not recorded for gradients: run it "
                             "under NoGrad",
                where);
  }
  if (x.tensor.rank(where) != 3 || dim_of(x.tensor, -1) != embed_) {
    bad_shape("MultiheadAttention",
              "takes x[N, L, " + std::to_string(embed_) + "] with a cache, got " + text(x.tensor),
              where);
  }
  auto part = [&](int64_t i) {
    const Tensor weight = in_proj_weight.slice(0, i * embed_, (i + 1) * embed_, 1, where);
    Tensor bias;
    if (in_proj_bias.defined())
      bias = in_proj_bias.slice(0, i * embed_, (i + 1) * embed_, 1, where);
    return split(linear(x, at(weight), bias), where);
  };
  const Tensor q = part(0), k = part(1), v = part(2);
  const KeysValues all = cache.extend(layer, k, v, where);
  const Tensor y = scaled_dot_product_attention(at(q), at(all.keys), at(all.values), seen);
  return out_proj(at(reshape_to(y.permute({0, 2, 1, 3}, where), {kCopy, kCopy, embed_}, at)));
}

}  // namespace wick::nn
