#include "trainer/nn/flash_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/function.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/modes.h"

namespace wick::nn {
namespace {

// A run of positions, from `begin` on.
struct Run {
  int64_t begin, end;
  Tensor of(const Tensor& t) const { return t.slice(-2, begin, end); }
};

// Returns the scores of some rows with some columns; those that a row must not see are -inf.
Tensor scores(const Tensor& q, const Tensor& k, const Run& rows, const Run& columns, bool causal) {
  Tensor s = matmul(rows.of(q), columns.of(k).transpose(-2, -1));
  if (!causal || columns.end <= rows.begin + 1) return s;
  const Tensor seen = le(arange(columns.begin, columns.end).unsqueeze(0),
                         arange(rows.begin, rows.end).unsqueeze(1));
  return where(seen, s, full({}, -std::numeric_limits<double>::infinity(), s.dtype()));
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

// What each row has summed up so far.
struct Online {
  Tensor largest, sum, out;  // [..., rows, 1] twice, [..., rows, Ev]

  void take(const Tensor& s, const Tensor& v) {
    Tensor m = amax(s, {-1}, true);
    if (largest.defined()) m = maximum(largest, m);
    Tensor p = exp(s.sub_(m));
    if (!largest.defined()) {
      sum = wick::sum(p, {-1}, true);
      out = matmul(p, v);
    } else {
      const Tensor shrink = exp(largest - m);
      sum.mul_(shrink).add_(wick::sum(p, {-1}, true));
      out.mul_(shrink).add_(matmul(p, v));
    }
    largest = m;
  }
};

struct FlashAttention : Function<FlashAttention> {
  static Tensor forward(AutogradContext& ctx, const Tensor& q, const Tensor& k, const Tensor& v,
                        bool causal, double scale, int64_t tile) {
    const Tensor scaled = q * scale;
    std::vector<Tensor> outs, logs;
    Online online;
    const auto end_rows = [&] {
      logs.push_back(online.largest + log(online.sum));
      outs.push_back(online.out.div_(online.sum));
      online = Online();
    };
    int64_t row = 0;
    for_tiles(dim_of(q, -2), dim_of(k, -2), tile, causal, [&](const Run& r, const Run& c) {
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
    const variable_list saved = ctx.get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &g = grads[0];
    const bool causal = std::any_cast<bool>(ctx.saved_data["causal"]);
    const double scale = std::any_cast<double>(ctx.saved_data["scale"]);
    if (grad_enabled()) return exact(ctx, saved, g, causal, scale);
    const Tensor scaled = q * scale;
    const Tensor own = sum(g * saved[3], {-1}, true);  // of each row: the weighted mean of g v^T
    Tensor dq = zeros_like(q), dk = zeros_like(k), dv = zeros_like(v);
    for_tiles(dim_of(q, -2), dim_of(k, -2), std::any_cast<int64_t>(ctx.saved_data["tile"]), causal,
              [&](const Run& r, const Run& c) {
                const Tensor p = exp(scores(scaled, k, r, c, causal).sub_(r.of(saved[4])));
                c.of(dv).add_(matmul(p.transpose(-2, -1), r.of(g)));
                const Tensor ds =
                    matmul(r.of(g), c.of(v).transpose(-2, -1)).sub_(r.of(own)).mul_(p);
                r.of(dq).add_(matmul(ds, c.of(k)));
                c.of(dk).add_(matmul(ds.transpose(-2, -1), r.of(scaled)));
              });
    return {dq.mul_(scale), dk, dv, Tensor(), Tensor(), Tensor()};
  }

  // The gradient with a history of its own.
  static variable_list exact(const AutogradContext& ctx, const variable_list& saved,
                             const Tensor& g, bool causal, double scale) {
    const Tensor y =
        scaled_dot_product_attention(saved[0], saved[1], saved[2], Tensor(), 0, causal, scale);
    variable_list needed, out(6);
    for (size_t i = 0; i < 3; ++i) {
      if (ctx.needs_input_grad(i)) needed.push_back(saved[i]);
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
  if (!is_float(a.dtype()) || b.dtype() != a.dtype() || c.dtype() != a.dtype()) {
    throw_error("flash_attention", "needs q, k and v of one floating-point dtype", q.where);
  }
  if (options.tile < 1) {
    throw_error("flash_attention", "tile must be at least 1, got " + std::to_string(options.tile),
                q.where);
  }
  const double scale = options.scale.value_or(
      1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, dim_of(a, -1)))));
  return FlashAttention::apply(q, b, c, options.is_causal, scale, options.tile);
}

}  // namespace wick::nn
