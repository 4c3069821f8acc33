// Transposed convolution of f32 with the register tiles of transposed.h.
#include "runtime/ops/conv_transpose.h"
#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/conv/conv_shape.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/via_f32.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/kernel_set.h"

namespace wick {
namespace {

struct State {
  const TileKernels* kernels;
  int threads;
  // Offsets in scratch: of transposed.h's scratch, after weights packed in run(); and, where
  // is_tiling(), of an image's outputs before they are interleaved.
  size_t work, outputs;
};

// One input pixel spreads over the whole kernel: each output has one tap, and is treated as a
// channel of one pixel.
bool is_spread(const TransposedShape& s) {
  bool spread = s.plane() == 1 && s.window() > 1;
  for (const PhaseAxis& a : s.axis)
    spread = spread && a.size == a.kernel && a.pad == 0 && (a.kernel == 1 || a.dilation == 1);
  return spread;
}

// Kernels tile the output without overlap: every phase has one tap, of the same input. With few
// channels all phases are treated as channels of one product, whose results are interleaved into
// rows.
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

// Returns the shape that the tiles compute.
TransposedShape tiled_shape(TransposedShape s) {
  const bool tiling = is_tiling(s);
  if (!tiling && !is_spread(s)) return s;
  s.writes *= s.window();
  for (PhaseAxis& a : s.axis) a = tiling ? PhaseAxis{a.from, a.from} : PhaseAxis{};
  if (tiling) s.n = 1;  // one image at a time
  return s;
}
TransposedShape true_shape(const KernelQuery& q) {
  return true_shape(q.in[0].shape, q.in[1].shape, q.out[0].shape, q.as<ConvTransposeAttrs>());
}
TransposedShape tiled_shape(const KernelQuery& q) { return tiled_shape(true_shape(q)); }

bool match(const KernelQuery& q) {
  if (q.in[0].dtype != DType::kF32 || q.in[0].rank() > 5 || q.out[0].numel() == 0 ||
      q.in[0].numel() == 0 || q.in[1].numel() == 0)
    return false;
  const TransposedShape s = tiled_shape(q);
  if (!TransposedConv::fits(s)) return false;
  // Refuses taps that reach so far outside that the padded image would be out of proportion.
  auto image = static_cast<double>(s.groups * s.reads);
  for (const PhaseAxis& a : s.axis) {
    int64_t before, after;
    a.margins(&before, &after);
    image *= static_cast<double>(before + a.from + after);
  }
  const int64_t there = s.groups * (s.reads * s.plane() + s.writes * s.pixels());
  return image < 16 * static_cast<double>(there) + (1 << 20);
}

// Returns an id for the packed form: it depends on the panels and on how kernel positions fall into
// phases.
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
  return static_cast<int64_t>(hash >> 1 | 1);  // 0 means a form that files store
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  const TransposedShape s = tiled_shape(q);
  const TransposedConv c(t, s, q.threads);
  const size_t weights = c.packed_bytes();
  State made{&t, q.threads, rounded(weights), 0};
  made.outputs = rounded(uint64_t{made.work} + c.scratch_bytes());
  p->keep(made);
  const TransposedShape whole = true_shape(q);
  const int64_t floats = is_tiling(whole) ? whole.groups * whole.writes * whole.pixels() : 0;
  p->scratch_bytes =
      byte_count(uint64_t{made.outputs} + sizeof(float) * static_cast<uint64_t>(floats));
  p->packs[0] = {1, packed_layout(PackedKind::kTransposed, c.unit()), weights, form(c, s)};
  return {};
}

Status pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& plan = p.kept<State>();
  TransposedConv(*plan.kernels, tiled_shape(q), plan.threads)
      .pack(q.in[1].as<float>(), static_cast<float*>(dst), nullptr);
  return {};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& plan = ctx.plan->kept<State>();
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
  const int64_t spread = s.writes / in[1].shape[1];  // outputs of one pixel that share a bias
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

static constexpr KernelRow kConvTranspose = {
    "conv_transpose.f32.simd", kContiguous, match, plan, pack, run};
WICK_CPU_ROWS(ConvTranspose, kConvTranspose);
WICK_HALF_ROWS(ConvTranspose, WICK_VIA_F32("conv_transpose.16.simd", kConvTranspose));

}  // namespace wick
