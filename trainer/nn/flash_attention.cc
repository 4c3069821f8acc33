#include "trainer/nn/flash_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/elementwise/half_loops.h"
#include "trainer/autograd/autograd.h"
#include "trainer/autograd/function.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/modes.h"

namespace wick::nn {
namespace {

// A run of positions, from `begin` on.
struct Run {
  int64_t begin, end;
  Tensor of(const Tensor& t) const { return t.slice(-2, begin, end); }
};

// The dtype of what is summed over tiles: of 16-bit floats float32, since a sum of 16 bits stops to
// grow after some hundred terms.
DType sum_dtype(DType t) { return is_16_bit_float(t) ? DType::kF32 : t; }
Tensor wide(const Tensor& t) { return t.to(sum_dtype(t.dtype())); }
// Returns a b, of which `a` may have the dtype of sums.
Tensor wide_matmul(const Tensor& a, const Tensor& b) { return wide(matmul(a.to(b.dtype()), b)); }

// Returns the scores of some rows with some columns; those that a row must not see are -inf.
Tensor scores(const Tensor& q, const Tensor& k, const Run& rows, const Run& columns, bool causal) {
  Tensor s = wide_matmul(rows.of(q), columns.of(k).transpose(-2, -1));
  if (!causal || columns.end <= rows.begin + 1) return s;
  const Tensor seen = le(arange(columns.begin, columns.end).unsqueeze(0),
                         arange(rows.begin, rows.end).unsqueeze(1));
  const Tensor never = full({}, -std::numeric_limits<double>::infinity(), s.dtype());
  return where(moved_beside(s, seen), s, never);
}

// Calls f(rows, columns) for each tile with a score that counts, row by row.
template <class F>
void for_tiles(int64_t rows, int64_t columns, int64_t tile, bool causal, const F& f) {
  for (int64_t i = 0; i < rows; i += tile) {
    const Run r{i, std::min(i + tile, rows)};
    for (int64_t j = 0; j < (causal ? std::min(columns, r.end) : columns); j += tile)
      f(r, Run{j, std::min(j + tile, columns)});
  }
}

double lowest_of(DType t) {
  return t == DType::kF32 ? std::numeric_limits<float>::lowest()
                          : std::numeric_limits<double>::lowest();
}

// What each row has summed up so far.
struct Online {
  Tensor largest, sum, out;  // [..., rows, 1] twice, [..., rows, Ev]

  void take(const Tensor& s, const Tensor& v) {
    // Scores of a tile that are all -inf do not spoil those of the next: -inf - -inf is NaN.
    Tensor m = maximum(amax(s, {-1}, true), full({}, lowest_of(s.dtype()), s.dtype()));
    if (largest.defined()) m = maximum(largest, m);
    Tensor p = exp(s.sub_(m));
    if (!largest.defined()) {
      sum = wick::sum(p, {-1}, true);
      out = wide_matmul(p, v);
    } else {
      const Tensor shrink = exp(largest - m);
      sum.mul_(shrink).add_(wick::sum(p, {-1}, true));
      out.mul_(shrink).add_(wide_matmul(p, v));
    }
    largest = m;
  }
};

struct FlashAttention : Function<FlashAttention> {
  static Tensor forward(AutogradContext& ctx, const Tensor& q, const Tensor& k, const Tensor& v,
                        bool causal, double scale, int64_t tile) {
    const AutocastScope plain(DType::kBF16, false);  // the inputs were cast already
    const Tensor scaled = q * scale;
    std::vector<Tensor> outs, logs;
    Online online;
    const auto end_rows = [&] {
      logs.push_back(online.largest + log(online.sum));
      outs.push_back(online.out.div_(online.sum).to(q.dtype()));
      online = Online();
    };
    int64_t row = 0;
    // size(): a capture has to know that the number of tiles depends on it.
    for_tiles(q.size(-2), k.size(-2), tile, causal, [&](const Run& r, const Run& c) {
      if (r.begin != row) end_rows();
      row = r.begin;
      online.take(scores(scaled, k, r, c, causal), c.of(v));
    });
    end_rows();
    const Tensor out = cat(outs, -2), log_sum = cat(logs, -2);
    ctx.save_for_backward({q, k, v, out, log_sum});
    ctx.saved_data["causal"] = causal;
    ctx.saved_data["scale"] = scale;
    ctx.saved_data["tile"] = tile;
    return out;
  }

  static variable_list backward(AutogradContext& ctx, const variable_list& grads) {
    const AutocastScope plain(DType::kBF16, false);  // forward mode runs this within forward's
    const variable_list saved = ctx.get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &g = grads[0];
    const bool causal = std::any_cast<bool>(ctx.saved_data["causal"]);
    const double scale = std::any_cast<double>(ctx.saved_data["scale"]);
    if (grad_enabled()) return exact(ctx, saved, g, causal, scale);
    const Tensor scaled = q * scale;
    // Of each row: the weighted mean of g v^T.
    const Tensor own = sum(wide(g) * wide(saved[3]), {-1}, true);
    const DType sums = sum_dtype(q.dtype());
    Tensor dq = zeros_like(q, sums), dk = zeros_like(k, sums), dv = zeros_like(v, sums);
    for_tiles(dim_of(q, -2), dim_of(k, -2), std::any_cast<int64_t>(ctx.saved_data["tile"]), causal,
              [&](const Run& r, const Run& c) {
                const Tensor p = exp(scores(scaled, k, r, c, causal).sub_(r.of(saved[4])));
                c.of(dv).add_(wide_matmul(p.transpose(-2, -1), r.of(g)));
                const Tensor ds =
                    wide_matmul(r.of(g), c.of(v).transpose(-2, -1)).sub_(r.of(own)).mul_(p);
                r.of(dq).add_(wide_matmul(ds, c.of(k)));
                c.of(dk).add_(wide_matmul(ds.transpose(-2, -1), r.of(scaled)));
              });
    return {dq.mul_(scale).to(q.dtype()),
            dk.to(k.dtype()),
            dv.to(v.dtype()),
            Tensor(),
            Tensor(),
            Tensor()};
  }

  // The gradient with a history of its own. Each input is a value of its own, as one may be made of
  // another, or be the same. In forward mode they have no history, and gradients are asked anyway.
  static variable_list exact(const AutogradContext& ctx, const variable_list& saved,
                             const Tensor& g, bool causal, double scale) {
    variable_list in;
    for (size_t i = 0; i < 3; ++i) {
      in.push_back(saved[i].clone());
      if (ctx.needs_input_grad(i) && !in[i].requires_grad()) in[i].requires_grad_();
    }
    const Tensor y = scaled_dot_product_attention(in[0], in[1], in[2], Tensor(), 0, causal, scale);
    variable_list needed, out(6);
    for (size_t i = 0; i < 3; ++i) {
      if (ctx.needs_input_grad(i)) needed.push_back(in[i]);
    }
    const variable_list found = grad({y}, needed, {g}, true, true);
    for (size_t i = 0, at = 0; i < 3; ++i) {
      if (ctx.needs_input_grad(i)) out[i] = found[at++];
    }
    return out;
  }
};

}  // namespace

Tensor flash_attention(const Arg& q, const Arg& k, const Arg& v,
                       const FlashAttentionOptions& options) {
  const Tensor &a = q.tensor, &b = k.tensor, &c = v.tensor;
  bool fits = a.rank() >= 2 && b.rank() == a.rank() && c.rank() == a.rank() &&
              dim_of(a, -1) == dim_of(b, -1) && dim_of(b, -2) == dim_of(c, -2);
  for (int d = 0; fits && d < a.rank() - 2; ++d)
    fits = dim_of(a, d) == dim_of(b, d) && dim_of(a, d) == dim_of(c, d);
  if (!fits || dim_of(a, -2) == 0 || dim_of(b, -2) == 0) {
    bad_shape(
        "flash_attention",
        "needs q[..., L, E], k[..., S, E], v[..., S, Ev] with equal leading sizes and L, S of "
        "at least 1, got " +
            text(a) + ", " + text(b) + ", " + text(c),
        q.where);
  }
  const std::vector<Tensor> in = autocast_tensors(OpId::kFusedAttention, {a, b, c}, q.where);
  const DType t = in[0].dtype();
  if (!is_float(t) || in[1].dtype() != t || in[2].dtype() != t) {
    throw_error("flash_attention",
                std::string("needs q, k and v of one floating-point dtype, got ") +
                    dtype_name(a.dtype()) + ", " + dtype_name(b.dtype()) + ", " +
                    dtype_name(c.dtype()),
                q.where, Code::kTypeMismatch);
  }
  if (options.tile < 1) {
    throw_error("flash_attention", "tile must be at least 1, got " + std::to_string(options.tile),
                q.where);
  }
  const double scale = options.scale.value_or(
      1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, dim_of(a, -1)))));
  return FlashAttention::apply(Arg{in[0], q.where}, in[1], in[2], options.is_causal, scale,
                               options.tile);
}

}  // namespace wick::nn
