// SIMD bodies of LayerNormGrad and GroupNormGrad, once per target.
#if defined(WICK_TRAINER_NORM_GRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_TRAINER_NORM_GRAD_INL_H_
#undef WICK_TRAINER_NORM_GRAD_INL_H_
#else
#define WICK_TRAINER_NORM_GRAD_INL_H_
#endif

#include "runtime/kernels/reduce/norm_rows-inl.h"
#include "trainer/kernels/norm_grad.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace norm_grad {

using norm_rows::moments;
using reduce::each_vector_of;
using reduce::fill;
using reduce::row_sums;
using reduce::V16;

// With h = g w and n = (x - mean) / root: dx = ((h - mean(h)) - n mean(h n)) / root. The sums of g
// n and of g are those of R lanes.
template <int R>
HWY_INLINE void layer_rows(const LayerNormGradRows& s, int64_t row, int lane, float* lines) {
  const float *x[R], *g[R];
  float mean[R], root[R], mean_h[R], mean_hn[R];
  for (int r = 0; r < R; ++r) x[r] = s.x + (row + r) * s.n, g[r] = s.g + (row + r) * s.g_step;
  moments<R>(x, s.n, s.epsilon, mean, root);
  const auto h = [&](auto access, int r, int64_t i)
                     HWY_ATTR { return hn::Mul(access.load(g[r] + i), access.load(s.w + i)); };
  row_sums<R>(s.n, h, mean_h);
  row_sums<R>(
      s.n,
      [&](auto access, int r, int64_t i) HWY_ATTR {
        const V16 centred = hn::Sub(access.load(x[r] + i), fill(mean[r]));
        const V16 normal = hn::Div(centred, fill(root[r]));
        hn::StoreU(normal, reduce::D16(), lines + r * s.step + i);
        return hn::Mul(h(access, r, i), normal);
      },
      mean_hn);
  const auto count = static_cast<float>(s.n);
  for (int r = 0; r < R; ++r) mean_h[r] /= count, mean_hn[r] /= count;
  each_vector_of(s.n, [&](auto access, int64_t i) HWY_ATTR {
    const reduce::D16 d;
    for (int r = 0; r < R; ++r) {
      const V16 normal = hn::LoadU(d, lines + r * s.step + i), dy = access.load(g[r] + i);
      const V16 rest = hn::Sub(hn::Mul(dy, access.load(s.w + i)), fill(mean_h[r]));
      const V16 inner = hn::Sub(rest, hn::Mul(normal, fill(mean_hn[r])));
      access.store(hn::Div(inner, fill(root[r])), s.dx + (row + r) * s.n + i);
      float *weight = s.weight + (lane + r) * s.step + i, *bias = s.bias + (lane + r) * s.step + i;
      hn::StoreU(hn::Add(hn::LoadU(d, weight), hn::Mul(dy, normal)), d, weight);
      hn::StoreU(hn::Add(hn::LoadU(d, bias), dy), d, bias);
    }
  });
}

static void layer(const LayerNormGradRows& s, int64_t begin, int64_t end, int lane, int lanes,
                  float* lines) {
  for (int l = lane; l < lane + lanes; ++l) {
    for (int64_t i = 0; i < s.step; ++i) s.weight[l * s.step + i] = s.bias[l * s.step + i] = 0;
  }
  Poll poll;
  for (int64_t row = begin + lane; row < end && !poll(8 * lanes * s.n); row += kSumLanes) {
    if (lanes == 4 && row + 4 <= end) {
      layer_rows<4>(s, row, lane, lines);
      continue;
    }
    for (int l = 0; l < lanes && row + l < end; ++l) layer_rows<1>(s, row + l, lane + l, lines);
  }
}

static void layer_sums(const LayerNormGradRows& s, int64_t begin, int64_t end, float* dw,
                       float* db) {
  const reduce::D16 d;
  const auto add = [&](float* lanes, int64_t i, float* to, int64_t n) HWY_ATTR {
    for (int width = kSumLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) {
        float* p = lanes + l * s.step + i;
        hn::StoreU(hn::Add(hn::LoadU(d, p), hn::LoadU(d, p + width * s.step)), d, p);
      }
    }
    for (int64_t k = 0; k < n; ++k) to[i + k] += lanes[i + k];
  };
  for (int64_t i = begin; i < end; i += reduce::kWidth) {
    const int64_t n = end - i < reduce::kWidth ? end - i : reduce::kWidth;
    add(s.weight, i, dw, n);
    add(s.bias, i, db, n);
  }
}

// With M = n elements, h = g w, c = x - mean and scaled = h / root, as group_norm()'s ops give it:
// k = sum(-(scaled (c / root))) 0.5 / root (1 / M), q = (scaled + k c) + k c,
// dx = q + sum(-q) (1 / M). dx holds h, scaled and q on the way.
template <int R>
HWY_INLINE void group_rows(const GroupNormGradRows& s, int64_t row) {
  const int64_t run = s.n / s.runs;
  const float* x[R];
  float *dx[R], *mean = s.mean + row, *root = s.root + row, sums[R];
  for (int r = 0; r < R; ++r) {
    x[r] = s.x + (row + r) * s.n, dx[r] = s.dx + (row + r) * s.n;
    const float *g = s.g + (row + r) * s.g_step, *w = s.w + (row + r) % s.groups * s.runs;
    for (int64_t k = 0; k < s.runs; ++k) {
      each_vector_of(run, [&](auto access, int64_t i) HWY_ATTR {
        access.store(hn::Mul(access.load(g + k * run + i), fill(w[k])), dx[r] + k * run + i);
      });
    }
  }
  moments<R>(x, s.n, s.epsilon, mean, root);
  const auto centred = [&](auto access, int r, int64_t i)
                           HWY_ATTR { return hn::Sub(access.load(x[r] + i), fill(mean[r])); };
  row_sums<R>(
      s.n,
      [&](auto access, int r, int64_t i) HWY_ATTR {
        const V16 scaled = hn::Div(access.load(dx[r] + i), fill(root[r]));
        access.store(scaled, dx[r] + i);
        return hn::Neg(hn::Mul(scaled, hn::Div(centred(access, r, i), fill(root[r]))));
      },
      sums);
  const auto share = static_cast<float>(1.0 / static_cast<double>(s.n));
  float factor[R];
  for (int r = 0; r < R; ++r) factor[r] = sums[r] * 0.5f / root[r] * share;
  row_sums<R>(
      s.n,
      [&](auto access, int r, int64_t i) HWY_ATTR {
        const V16 part = hn::Mul(fill(factor[r]), centred(access, r, i));
        const V16 q = hn::Add(hn::Add(access.load(dx[r] + i), part), part);
        access.store(q, dx[r] + i);
        return hn::Neg(q);
      },
      sums);
  for (int r = 0; r < R; ++r) {
    const V16 rest = fill(sums[r] * share);
    each_vector_of(s.n, [&](auto access, int64_t i) HWY_ATTR {
      access.store(hn::Add(access.load(dx[r] + i), rest), dx[r] + i);
    });
  }
}

static void group(const GroupNormGradRows& s, int64_t begin, int64_t end) {
  Poll poll;
  int64_t row = begin;
  for (; s.n <= norm_rows::kShort && row + 4 <= end; row += 4) {
    if (poll(16 * s.n)) return;
    group_rows<4>(s, row);
  }
  for (; row < end && !poll(4 * s.n); ++row) group_rows<1>(s, row);
}

static void group_sums(const GroupNormGradRows& s, int64_t images, int64_t begin, int64_t end,
                       float* dw, float* db) {
  const int64_t run = s.n / s.runs;
  Poll poll;
  for (int64_t c = begin; c < end; ++c) {
    reduce::VectorSum weight, bias;
    for (int64_t image = 0; image < images && !poll(2 * run); ++image) {
      const int64_t row = image * s.groups + c / s.runs;
      const int64_t at = c % s.runs * run;
      const float *x = s.x + row * s.n + at, *g = s.g + row * s.g_step + at, mean = s.mean[row],
                  root = s.root[row];
      bias.add(g, run);
      weight.add_run(
          run,
          [=](V16 sum, int64_t i) HWY_ATTR {
            const reduce::D16 d;
            const V16 normal = hn::Div(hn::Sub(hn::LoadU(d, x + i), fill(mean)), fill(root));
            return hn::Add(sum, hn::Mul(hn::LoadU(d, g + i), normal));
          },
          [=](float sum, int64_t i) HWY_ATTR { return sum + g[i] * ((x[i] - mean) / root); });
    }
    dw[c] = weight.finish();
    db[c] = bias.finish();
  }
}

constexpr NormGradBodies kBodies = {layer, layer_sums, group, group_sums};

}  // namespace norm_grad

static const NormGradBodies* find_norm_grad() { return &norm_grad::kBodies; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
