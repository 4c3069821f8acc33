// Transposed convolution of f32, in two ways. By register tiles (transposed.h); and, where a group
// writes few channels or taps lie far apart, by runs: the outputs of one row that are a stride apart
// read neighbouring inputs by the same taps, so one after another each of these runs is a sum over
// (channel, kernel position) with pixels as lanes. Outputs near the ends of a row have fewer taps:
// runs of their own.
#include <cstring>
#include <numeric>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/conv_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/half_kernels.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/via_f32.h"
#include "runtime/ops/conv_transpose.h"

namespace wick {
namespace {

constexpr int64_t kSlack = 64;  // floats: no vector is longer

int64_t round_up(int64_t n) { return ceil_div(n, 16) * 16; }

// One dim; `pad` is cut off before the first output.
struct Dim {
  int64_t in = 1, kernel = 1, out = 1, stride = 1, dilation = 1, pad = 0;
};

// The kernel positions k that reach an output, ascending, with the inputs they read.
struct Reach {
  int64_t first = 0, step = 1, count = 0;  // of k
  int64_t input = 0, back = 0;             // the first one's input; from one to the next, downwards
  bool operator==(const Reach& o) const {
    return first == o.first && step == o.step && count == o.count && back == o.back;
  }
};

Reach reach(const Dim& d, int64_t out) {
  const int64_t at = out + d.pad, common = std::gcd(d.stride, d.dilation);
  Reach r;
  r.step = d.stride / common, r.back = d.dilation / common;
  int64_t k = 0;
  while (k < d.kernel && k < r.step && (at - k * d.dilation) % d.stride != 0) ++k;
  if (k >= r.step) return r;
  for (; k < d.kernel && k * d.dilation <= at; k += r.step) {
    const int64_t q = (at - k * d.dilation) / d.stride;
    if (q < d.in && r.count++ == 0) r.first = k, r.input = q;
  }
  return r;
}

struct Job {
  Dim d[3];
  int64_t images = 0, groups = 1, group_in = 0, group_out = 0;
  int64_t plane() const { return d[0].in * d[1].in * d[2].in; }
  int64_t window() const { return d[0].kernel * d[1].kernel * d[2].kernel; }
  int64_t pixels() const { return d[0].out * d[1].out * d[2].out; }
  int64_t taps() const { return group_in * window(); }
  int64_t run() const { return ceil_div(d[2].out, d[2].stride); }  // outputs of one run, at most
  // Floats of scratch: an image with slack; for a task, weights and offsets of a run, its outputs.
  int64_t image() const { return round_up(groups * group_in * plane() + kSlack); }
  int64_t task() const { return 2 * round_up(taps()) + round_up(run() + kSlack); }
};

Job job_of(const Shape& x, const Shape& w, const Shape& y, const ConvTransposeAttrs& a) {
  Job j;
  const int spatial = x.rank() - 2;
  for (int i = 0; i < spatial; ++i) {
    j.d[3 - spatial + i] = {x[2 + i],
                            w[2 + i],
                            y[2 + i],
                            a.conv.strides.at_or(i, 1),
                            a.conv.dilations.at_or(i, 1),
                            transposed_pad(a, x[2 + i], w[2 + i], y[2 + i], i)};
  }
  j.images = x[0], j.groups = a.conv.group, j.group_in = x[1] / a.conv.group, j.group_out = w[1];
  return j;
}

bool match(const KernelQuery& q) {
  const Shape &x = q.in[0].shape, &w = q.in[1].shape, &y = q.out[0].shape;
  if (q.in[0].dtype != DType::kF32 || x.rank() > 5) return false;
  // Offsets are of 32 bits, and scratch stays in proportion; nothing of it may be empty.
  constexpr double kMost = 1e8, kTaps = 1e7;
  const auto product = [](const Shape& s, int from) {
    double n = 1;
    for (int i = from; i < s.rank(); ++i) n *= static_cast<double>(s[i]);
    return n;
  };
  const auto& a = q.as<ConvTransposeAttrs>();
  for (int i = 0; i < x.rank() - 2; ++i) {
    if (a.conv.strides.at_or(i, 1) > (1 << 30) || a.conv.dilations.at_or(i, 1) > (1 << 30))
      return false;
  }
  if (product(x, 0) == 0 || product(w, 0) == 0 || product(y, 0) == 0) return false;
  return product(x, 1) < kMost && product(y, 1) < kMost &&
         static_cast<double>(x[1]) / static_cast<double>(a.conv.group) * product(w, 2) * q.threads <
             kTaps &&
         static_cast<double>(y[y.rank() - 1]) * q.threads < kTaps + product(y, 0);
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const Job j = job_of(q.in[0].shape, q.in[1].shape, q.out[0].shape, q.as<ConvTransposeAttrs>());
  p->keep(&tile_kernels());
  const int64_t floats = j.image() + static_cast<int64_t>(q.threads) * j.task();
  p->scratch_bytes = byte_count(sizeof(float) * static_cast<uint64_t>(floats));
  return {};
}

// The taps of one output channel that are of these reaches, in the contract's order.
int64_t gather(const Job& j, const float* w, const Reach* r, float* weight, int32_t* offset) {
  int64_t n = 0;
  for (int64_t c = 0; c < j.group_in; ++c) {
    const float* from = w + c * j.group_out * j.window();
    for (int64_t p = 0; p < r[0].count; ++p) {
      for (int64_t s = 0; s < r[1].count; ++s) {
        const int64_t k =
            ((r[0].first + p * r[0].step) * j.d[1].kernel + r[1].first + s * r[1].step) *
            j.d[2].kernel;
        const int64_t row = (p * r[0].back * j.d[1].in + s * r[1].back) * j.d[2].in;
        for (int64_t t = 0; t < r[2].count; ++t, ++n) {
          weight[n] = from[k + r[2].first + t * r[2].step];
          offset[n] = static_cast<int32_t>(c * j.plane() - row - t * r[2].back);
        }
      }
    }
  }
  return n;
}

// One output channel: x is its group's image, w its weights.
void channel(const TileKernels& t, const Job& j, const float* x, const float* w, const float* bias,
             float* y, float* scratch) {
  float* weight = scratch;
  auto* offset = reinterpret_cast<int32_t*>(scratch + round_up(j.taps()));
  float* sums = scratch + 2 * round_up(j.taps());
  const Dim& last = j.d[2];
  for (int64_t from = 0; from < last.out;) {
    // A run: outputs from `from`, a stride apart, of the same taps. Their phase's next run follows;
    // after its last one, the next phase.
    const int64_t phase = from % last.stride;
    Reach r[3] = {{}, {}, reach(last, from)};
    int64_t to = from + last.stride, count = 1;
    for (; to < last.out && reach(last, to) == r[2]; to += last.stride) ++count;
    Reach had[2];
    int64_t taps = -1;  // gathered ones are of `had`
    for (int64_t residue = 0; residue < j.d[1].stride && residue < j.d[1].out; ++residue) {
      for (int64_t d = 0; d < j.d[0].out; ++d) {
        r[0] = reach(j.d[0], d);
        for (int64_t i = residue; i < j.d[1].out; i += j.d[1].stride) {
          r[1] = reach(j.d[1], i);
          if (taps < 0 || !(had[0] == r[0]) || !(had[1] == r[1])) {
            taps = gather(j, w, r, weight, offset);
            had[0] = r[0], had[1] = r[1];
          }
          const int64_t at = (r[0].input * j.d[1].in + r[1].input) * last.in + r[2].input;
          float* out = y + (d * j.d[1].out + i) * last.out + from;
          if (taps > 0) {
            t.taps(x + at, offset, weight, taps, sums, count);
          } else {
            memset(sums, 0, sizeof(float) * static_cast<size_t>(count));
          }
          for (int64_t o = 0; o < count; ++o)
            out[o * last.stride] = bias == nullptr ? sums[o] : sums[o] + *bias;
        }
      }
    }
    from = to < last.out ? to : phase + 1 < last.stride ? phase + 1 : last.out;
  }
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& t = *ctx.plan->kept<const TileKernels*>();
  const Job j = job_of(in[0].shape, in[1].shape, out[0].shape,
                       *static_cast<const ConvTransposeAttrs*>(attrs));
  const float* bias = optional_input(in, 2);
  auto* image = static_cast<float*>(ctx.scratch);
  float* tasks = image + j.image();
  const int64_t floats = j.groups * j.group_in * j.plane(), channels = j.groups * j.group_out;
  memset(image + floats, 0, sizeof(float) * static_cast<size_t>(j.image() - floats));
  for (int64_t n = 0; n < j.images; ++n) {
    // With room behind it: vectors read beyond the last pixel.
    memcpy(image, in[0].as<float>() + n * floats, sizeof(float) * static_cast<size_t>(floats));
    parallel_for(ctx.pool, channels, [&](int64_t c, int worker) {
      const int64_t first = c / j.group_out * j.group_in;
      channel(t, j, image + first * j.plane(),
              in[1].as<float>() + (first * j.group_out + c % j.group_out) * j.window(),
              bias == nullptr ? nullptr : bias + c,
              out[0].as<float>() + (n * channels + c) * j.pixels(), tasks + worker * j.task());
    });
  }
  return {};
}

// By tiles.
struct Tiled {
  const TileKernels* kernels;
  int threads;
  // Offsets in scratch: behind weights that nobody packed; of an image's outputs before is_tiling's
  // are woven.
  size_t work, outputs;
};

// From one pixel to the whole kernel: each output has one tap, and is a channel of one pixel.
bool is_spread(const TransposedShape& s) {
  bool spread = s.plane() == 1 && s.window() > 1;
  for (const PhaseAxis& a : s.axis)
    spread = spread && a.size == a.kernel && a.pad == 0 && (a.kernel == 1 || a.dilation == 1);
  return spread;
}

// Kernels side by side: every phase has one tap, of the same input, so few channels in all of them
// are more channels of one product, to be woven into rows.
bool is_tiling(const TransposedShape& s) {
  constexpr int64_t kFew = 8;
  bool tiling = s.writes < kFew && s.window() > 1;
  for (const PhaseAxis& a : s.axis) {
    tiling = tiling && a.kernel == a.stride && a.pad == 0 && a.size == a.from * a.stride &&
             (a.kernel == 1 || a.dilation == 1);
  }
  return tiling;
}

void weave(const float* from, const TransposedShape& s, const float* bias, float* y,
           ThreadPool* pool) {
  const PhaseAxis *d = &s.axis[0], *h = &s.axis[1], *w = &s.axis[2];
  const int64_t rows = d->size * h->size;
  parallel_for(pool, s.groups * s.writes * d->from * h->from, [&](int64_t task, int) {
    const int64_t c = task / (d->from * h->from), row = task % (d->from * h->from);
    const float* tap = from + c * s.window() * s.plane() + row * w->from;
    for (int64_t k = 0; k < d->kernel * h->kernel; ++k) {
      const int64_t deep = row / h->from * d->kernel + k / h->kernel;
      const int64_t high = row % h->from * h->kernel + k % h->kernel;
      float* out = y + (c * rows + deep * h->size + high) * w->size;
      for (int64_t i = 0; i < w->kernel; ++i, tap += s.plane()) {
        for (int64_t j = 0; j < w->from; ++j)
          out[j * w->kernel + i] = bias == nullptr ? tap[j] : tap[j] + bias[c];
      }
    }
  });
}

TransposedShape true_shape(const Shape& x, const Shape& w, const Shape& y,
                           const ConvTransposeAttrs& a) {
  TransposedShape s = transposed_shape(x, w, y, a.conv);
  const int spatial = x.rank() - 2;
  for (int i = 0; i < spatial; ++i)
    s.axis[3 - spatial + i].pad = transposed_pad(a, x[2 + i], w[2 + i], y[2 + i], i);
  return s;
}

// As the tiles see it.
TransposedShape tiled_shape(TransposedShape s) {
  const bool tiling = is_tiling(s);
  if (!tiling && !is_spread(s)) return s;
  s.writes *= s.window();
  for (PhaseAxis& a : s.axis) a = tiling ? PhaseAxis{a.from, a.from} : PhaseAxis{};
  if (tiling) s.n = 1;  // image by image
  return s;
}
TransposedShape true_shape(const KernelQuery& q) {
  return true_shape(q.in[0].shape, q.in[1].shape, q.out[0].shape, q.as<ConvTransposeAttrs>());
}
TransposedShape tiled_shape(const KernelQuery& q) { return tiled_shape(true_shape(q)); }

bool tiled_match(const KernelQuery& q) {
  if (q.in[0].dtype != DType::kF32 || q.in[0].rank() > 5 || q.out[0].numel() == 0 ||
      q.in[0].numel() == 0 || q.in[1].numel() == 0)
    return false;
  const TransposedShape s = tiled_shape(q);
  if ((s.groups > 1 && s.writes < 4) || !TransposedConv::fits(s)) return false;
  for (const PhaseAxis& a : s.axis) {  // nothing that is far outside is written out for its taps
    int64_t before, after;
    a.margins(&before, &after);
    if (before + after > 3 * (a.from + a.size) + 64) return false;
  }
  return true;
}

// A form of the weights is its panels and how the kernel's positions fall into phases.
int64_t form(const TransposedConv& c, const TransposedShape& s) {
  uint64_t hash = 14695981039346656037u;
  const auto add = [&](int64_t v) { hash = (hash ^ static_cast<uint64_t>(v)) * 1099511628211u; };
  add(c.by_channel() ? 1 : 0);
  add(s.groups);
  add(s.writes);
  for (const PhaseAxis& a : s.axis) {
    add(a.stride);
    add(a.dilation % a.stride);
    add(a.pad % a.stride);
    add(a.phases());
  }
  return static_cast<int64_t>(hash >> 1 | 1);  // 0 would be a form that files keep
}

Status tiled_plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  const TransposedShape s = tiled_shape(q);
  const TransposedConv c(t, s, q.threads);
  const size_t weights = c.packed_bytes();
  Tiled plan{&t, q.threads, rounded(weights), 0};
  plan.outputs = rounded(uint64_t{plan.work} + c.scratch_bytes());
  p->keep(plan);
  const TransposedShape whole = true_shape(q);
  const int64_t floats = is_tiling(whole) ? whole.groups * whole.writes * whole.pixels() : 0;
  p->scratch_bytes = byte_count(uint64_t{plan.outputs} + sizeof(float) * static_cast<uint64_t>(floats));
  p->packs[0] = {1, packed_layout(PackedKind::kTransposed, c.unit()), weights, form(c, s)};
  return {};
}

Status tiled_pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& plan = p.kept<Tiled>();
  TransposedConv(*plan.kernels, tiled_shape(q), plan.threads)
      .pack(q.in[1].as<float>(), static_cast<float*>(dst), nullptr);
  return {};
}

Status tiled_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const auto& plan = ctx.plan->kept<Tiled>();
  const TransposedShape whole = true_shape(in[0].shape, in[1].shape, out[0].shape,
                                           *static_cast<const ConvTransposeAttrs*>(attrs));
  const TransposedShape s = tiled_shape(whole);
  const TransposedConv c(*plan.kernels, s, plan.threads);
  auto* scratch = static_cast<char*>(ctx.scratch);
  const auto* packed = static_cast<const float*>(ctx.packed[0]);
  if (packed == nullptr) {
    c.pack(in[1].as<float>(), reinterpret_cast<float*>(scratch), ctx.pool);
    packed = reinterpret_cast<const float*>(scratch);
  }
  const float *x = in[0].as<float>(), *bias = optional_input(in, 2);
  float* y = out[0].as<float>();
  auto* work = reinterpret_cast<float*>(scratch + plan.work);
  if (is_tiling(whole)) {
    auto* outputs = reinterpret_cast<float*>(scratch + plan.outputs);
    for (int64_t n = 0; n < whole.n; ++n) {
      c.run(x + n * whole.groups * whole.reads * whole.plane(), packed, nullptr, outputs, work,
            ctx.pool);
      weave(outputs, whole, bias, y + n * whole.groups * whole.writes * whole.pixels(), ctx.pool);
    }
    return {};
  }
  const int64_t spread = s.writes / in[1].shape[1];  // outputs of one pixel that have one bias
  if (spread > 1) {
    c.run(x, packed, nullptr, y, work, ctx.pool);
    if (bias == nullptr) return {};
    Epilogue e;
    e.bias = bias;
    e.channel = Epilogue::Channel::kRow;
    const int64_t channels = out[0].shape[1];
    for (int64_t n = 0; n < s.n; ++n, y += channels * spread)
      plan.kernels->finish(e, 0, y, spread, y, spread, channels, spread);
    return {};
  }
  c.run(x, packed, bias, y, work, ctx.pool);
  c.leave_out_padding(x, packed, bias, y, ctx.pool);
  return {};
}

}  // namespace

static constexpr KernelRow kTiled = {"conv_transpose.f32.simd", kContiguous, tiled_match,
                                     tiled_plan,                tiled_pack,  tiled_run};
static constexpr KernelRow kRuns = {
    "conv_transpose_runs.f32.simd", kContiguous, match, plan, nullptr, run};
WICK_CPU_ROWS(ConvTranspose, kTiled, kRuns);
WICK_HALF_ROWS(ConvTranspose, WICK_VIA_F32("conv_transpose.16.simd", kTiled),
               WICK_VIA_F32("conv_transpose_runs.16.simd", kRuns));

}  // namespace wick
