#include <cmath>

#include "trainer/autograd/grad/common.h"

namespace wick {
namespace {

// Reshapes [B, T, heads * n] to [T, B, heads, n].
Tensor by_token(const Tensor& x, int64_t heads, int64_t n) {
  const Shape s = x.raw_shape();
  return x.reshape({s[0], s[1], heads, n}).permute({1, 0, 2, 3});
}

// Computes the recurrence in separate ops, one token at a time.
std::vector<Tensor> linear_attention(const std::vector<Tensor>& in, const LinearAttentionAttrs& a) {
  const Shape query = in[0].raw_shape();
  const int64_t batch = query[0], tokens = query[1], heads = a.kv_num_heads,
                group = a.q_num_heads / heads, n = query[2] / a.q_num_heads,
                m = in[2].raw_shape()[2] / heads;
  const auto given = [&](size_t i) { return i < in.size() && in[i].defined(); };
  const auto last = [&](size_t i) { return in[i].raw_shape()[2]; };
  const DType dtype = in[0].dtype(), wide = dtype == DType::kF64 ? dtype : DType::kF32;
  const auto split = [&](size_t i, int64_t of, int64_t size) {
    return by_token(in[i].to(wide), of, size);
  };
  const double scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(n));
  Tensor q = split(0, heads, group * n), k = split(1, heads, n), v = split(2, heads, m), decay,
         beta;
  if (given(4)) decay = split(4, heads, last(4) / heads);
  if (given(5)) beta = split(5, last(5), 1);
  Tensor state = given(3) ? in[3].to(wide) : zeros({batch, heads, n, m}, wide);
  std::vector<Tensor> outputs;
  for (int64_t t = 0; t < tokens; ++t) {
    if (decay.defined()) state = state * exp(decay.select(0, t)).unsqueeze(-1);
    Tensor key = k.select(0, t).unsqueeze(-1), value = v.select(0, t).unsqueeze(-2);
    if (beta.defined())
      value = beta.select(0, t).unsqueeze(-1) * (value - matmul(key.transpose(-2, -1), state));
    state = state + key * value;
    Tensor read = matmul(q.select(0, t).reshape({batch, heads, group, n}), state) * scale;
    outputs.push_back(read.reshape({batch, a.q_num_heads * m}));
  }
  Tensor y = tokens == 0 ? zeros({batch, 0, a.q_num_heads * m}, wide) : stack(outputs, 1);
  return {y.to(dtype), state.to(given(3) ? in[3].dtype() : dtype)};
}

}  // namespace

WICK_GRAD(LinearAttention, 0b111111, 0, 0, [](GradCtx& c) {
  grad_through(c, [&](const std::vector<Tensor>& in) {
    return linear_attention(in, c.attrs<LinearAttentionAttrs>());
  });
});

// A graph pass creates it; the trainer has the nodes that it replaces.
WICK_NONDIFF(FusedAttention, NonDiff::kInferenceOnly);

}  // namespace wick
