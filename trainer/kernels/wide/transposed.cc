// Transposed convolution of float64, which is also the gradient of a convolution by its input. A
// stride divides the outputs of a dim into phases (PhaseAxis), each a convolution at stride 1 with
// the kernel positions that reach it.
#include <algorithm>
#include <cmath>

#include "runtime/core/byte_count.h"
#include "runtime/core/stop.h"
#include "runtime/kernels/conv/conv_shape.h"
#include "runtime/ops/conv_transpose.h"
#include "trainer/kernels/wide/rows.h"
#include "trainer/kernels/wide/window.h"

namespace wick {
namespace {

// The kernel positions of a phase, in the weights' order, and how far each moves the input.
struct Phase {
  const PhaseAxis* axis;
  int64_t at[3], count[3];  // first output, outputs

  Phase(const TransposedShape& s, int64_t index) : axis(s.axis) {
    for (int d = 2; d >= 0; --d) {
      at[d] = index % axis[d].phases();
      index /= axis[d].phases();
      count[d] = axis[d].count(at[d]);
    }
  }
  int64_t outputs() const { return count[0] * count[1] * count[2]; }
  int64_t taps() const { return axis[0].taps(at[0]) * axis[1].taps(at[1]) * axis[2].taps(at[2]); }
  // Calls f(position in the kernel) for the positions that reach the phase.
  template <class F>
  void each_tap(F&& f) const {
    for (int64_t i = 0; i < axis[0].kernel; ++i) {
      if (!axis[0].reaches(at[0], i)) continue;
      for (int64_t j = 0; j < axis[1].kernel; ++j) {
        if (!axis[1].reaches(at[1], j)) continue;
        for (int64_t k = 0; k < axis[2].kernel; ++k)
          if (axis[2].reaches(at[2], k)) f((i * axis[1].kernel + j) * axis[2].kernel + k);
      }
    }
  }
};

int64_t phases(const TransposedShape& s) {
  return s.axis[0].phases() * s.axis[1].phases() * s.axis[2].phases();
}

// Rows (channel read, kernel position of the phase), columns outputs of the phase.
class PhaseInputs final : public WideRows {
 public:
  PhaseInputs(const TransposedShape& s, const Phase& phase, const int64_t* positions, int64_t taps,
              const double* x)
      : s_(s), phase_(phase), positions_(positions), taps_(taps), x_(x) {}
  void pack(int64_t k, int64_t depth, int64_t j, int64_t cols, int64_t columns,
            double* panels) const override {
    WideLines l;
    l.x = x_;
    for (int d = 0; d < 3; ++d)
      l.in[d] = s_.axis[d].from, l.out[d] = phase_.count[d], l.step[d] = 1;
    l.taps = taps_;
    l.move = move, l.of = this;
    pack_lines(l, k, depth, j, cols, columns, panels);
  }

 private:
  static void move(const void* of, int64_t tap, int64_t* to) {
    const auto& p = *static_cast<const PhaseInputs*>(of);
    const PhaseAxis *h = &p.s_.axis[1], *w = &p.s_.axis[2];
    const int64_t position = p.positions_[tap];
    to[0] = p.s_.axis[0].shift(p.phase_.at[0], position / (h->kernel * w->kernel));
    to[1] = h->shift(p.phase_.at[1], position / w->kernel % h->kernel);
    to[2] = w->shift(p.phase_.at[2], position % w->kernel);
  }

  const TransposedShape& s_;
  const Phase& phase_;
  const int64_t* positions_;
  int64_t taps_;
  const double* x_;
};

// Scratch, in doubles: a phase's weights and positions, then for each worker its product's scratch
// and the outputs of a phase before they are spread over the image.
struct Room {
  int64_t weights = 0, positions = 0, outputs = 0;

  explicit Room(const TransposedShape& s) {
    for (int64_t i = 0; i < phases(s); ++i) {
      const Phase p(s, i);
      positions = std::max(positions, p.taps());
      outputs = std::max(outputs, s.writes * p.outputs());
    }
    weights = s.writes * s.reads * positions;
    if (phases(s) == 1) outputs = 0;
  }
  int64_t shared() const { return weights + positions; }
  int64_t each() const { return kWideScratch + outputs; }
};

class Transposed {
 public:
  Transposed(const TransposedShape& s, const double* x, const double* w, double* y, double* scratch)
      : s_(s), room_(s), x_(x), w_(w), y_(y), scratch_(scratch) {}

  void run(ThreadPool* pool) {
    for (int64_t g = 0; g < s_.groups; ++g) {
      for (int64_t i = 0; i < phases(s_) && !stopped(); ++i) phase(g, Phase(s_, i), pool);
    }
  }

 private:
  void phase(int64_t g, const Phase& phase, ThreadPool* pool) {
    const int64_t taps = phase.taps(), k = s_.reads * taps, outputs = phase.outputs();
    auto* positions = reinterpret_cast<int64_t*>(scratch_ + room_.weights);
    int64_t found = 0;
    phase.each_tap([&](int64_t position) { positions[found++] = position; });
    for (int64_t i = 0; i < s_.writes; ++i) {
      for (int64_t c = 0; c < s_.reads; ++c) {
        const double* from = w_ + ((g * s_.reads + c) * s_.writes + i) * s_.window();
        for (int64_t t = 0; t < taps; ++t) scratch_[i * k + c * taps + t] = from[positions[t]];
      }
    }
    // `apart` has the outputs of a phase that is not the whole image.
    const auto image = [&](int64_t n, double* own, double* apart, ThreadPool* inner) {
      const PhaseInputs vectors(s_, phase, positions, taps,
                                x_ + (n * s_.groups + g) * s_.reads * s_.plane());
      double* y = y_ + (n * s_.groups + g) * s_.writes * s_.pixels();
      const bool whole = room_.outputs == 0;
      WideProduct p;
      p.m = s_.writes, p.n = outputs, p.k = k;
      p.a = scratch_, p.a_row = k, p.a_col = 1;
      p.b = &vectors;
      p.c = whole ? y : apart, p.c_row = outputs;
      wide_product(p, own, inner);
      if (!whole) spread(phase, p.c, y);
    };
    double* own = scratch_ + room_.shared();
    if (pool != nullptr && s_.n >= pool->threads()) {
      parallel_for(pool, s_.n, [&](int64_t n, int worker) {
        double* mine = own + worker * room_.each();
        image(n, mine, mine + kWideScratch, nullptr);
      });
      return;
    }
    const int64_t threads = pool == nullptr ? 1 : pool->threads();
    for (int64_t n = 0; n < s_.n && !stopped(); ++n)
      image(n, own, own + threads * kWideScratch, pool);
  }

  void spread(const Phase& phase, const double* from, double* y) const {
    const PhaseAxis *d = &s_.axis[0], *h = &s_.axis[1], *w = &s_.axis[2];
    for (int64_t i = 0; i < s_.writes; ++i, y += s_.pixels()) {
      for (int64_t p = 0; p < phase.count[0]; ++p) {
        for (int64_t r = 0; r < phase.count[1]; ++r) {
          double* to =
              y +
              ((phase.at[0] + p * d->stride) * h->size + phase.at[1] + r * h->stride) * w->size +
              phase.at[2];
          for (int64_t q = 0; q < phase.count[2]; ++q) to[q * w->stride] = *from++;
        }
      }
    }
  }

  const TransposedShape& s_;
  const Room room_;
  const double *x_, *w_;
  double *y_, *scratch_;
};

// -- ConvTranspose has no padded steps, which change a sum only from -0 to +0, or to NaN if a
// weight is not finite: such outputs are computed again.

double output(const TransposedShape& s, const double* x, const double* w, int64_t channel,
              const int64_t* at) {
  double sum = 0;
  const int64_t g = channel / s.writes;
  for (int64_t c = 0; c < s.reads; ++c) {
    const double* image = x + (g * s.reads + c) * s.plane();
    const double* weight = w + ((g * s.reads + c) * s.writes + channel % s.writes) * s.window();
    for (int64_t t = 0; t < s.window(); ++t) {
      const int64_t tap[3] = {t / (s.axis[1].kernel * s.axis[2].kernel),
                              t / s.axis[2].kernel % s.axis[1].kernel, t % s.axis[2].kernel};
      int64_t place = 0;
      bool reads = true;
      for (int d = 0; d < 3; ++d) {
        const PhaseAxis& a = s.axis[d];
        const int64_t q = at[d] + a.pad - tap[d] * a.dilation;
        reads = reads && q >= 0 && q % a.stride == 0 && q / a.stride < a.from;
        place = place * a.from + q / a.stride;
      }
      if (reads) sum = std::fma(weight[t], image[place], sum);
    }
  }
  return sum;
}

void leave_out_padding(const TransposedShape& s, const double* x, const double* w, double* y,
                       ThreadPool* pool) {
  const int64_t channels = s.groups * s.writes;
  parallel_for(pool, s.n * channels, [&](int64_t task, int) {
    const double* image = x + task / channels * s.groups * s.reads * s.plane();
    double* out = y + task * s.pixels();
    Poll poll;
    for (int64_t i = 0; i < s.pixels(); ++i) {
      if (out[i] != 0 && out[i] == out[i]) continue;
      if (poll(s.reads * s.window())) return;
      const int64_t at[3] = {i / (s.axis[1].size * s.axis[2].size),
                             i / s.axis[2].size % s.axis[1].size, i % s.axis[2].size};
      bool inside = true;
      for (int d = 0; d < 3; ++d) inside = inside && s.axis[d].inside(at[d]);
      if (!inside) out[i] = output(s, image, w, task % channels, at);
    }
  });
}

// -- the rows

bool fits(const KernelQuery& q) {
  return q.in[0].dtype == DType::kF64 && q.in[0].rank() <= 5 && q.in[0].numel() > 0 &&
         q.in[1].numel() > 0 && q.out[0].numel() > 0 && wide_products();
}

// Phases without a kernel position among many would be a product each.
bool worth(const TransposedShape& s) {
  return phases(s) <= 4096 && phases(s) <= 16 * s.window() + 64;
}

TransposedShape shape_of(Span<const TensorView> in, Span<const TensorView> out,
                         const ConvTransposeAttrs& a) {
  TransposedShape s = transposed_shape(in[0].shape, in[1].shape, out[0].shape, a.conv);
  const int spatial = in[0].rank() - 2;
  for (int i = 0; i < spatial; ++i)
    s.axis[3 - spatial + i].pad =
        transposed_pad(a, in[0].shape[2 + i], in[1].shape[2 + i], out[0].shape[2 + i], i);
  return s;
}
TransposedShape shape_of(Span<const TensorView> in, Span<const TensorView> out,
                         const ConvGradAttrs& a) {
  return transposed_shape(in[0].shape, in[1].shape, out[0].shape, a.conv);
}

template <class Attrs>
bool match(const KernelQuery& q) {
  return fits(q) && worth(shape_of(q.in, q.out, q.as<Attrs>()));
}

template <class Attrs>
Status plan(const KernelQuery& q, KernelPlan* p) {
  const Room room(shape_of(q.in, q.out, q.as<Attrs>()));
  p->scratch_bytes = byte_count(
      sizeof(double) * (static_cast<uint64_t>(room.shared()) +
                        static_cast<uint64_t>(room.each()) * static_cast<uint64_t>(q.threads)));
  return {};
}

Status input_grad(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  const TransposedShape s = shape_of(in, out, *static_cast<const ConvGradAttrs*>(attrs));
  Transposed(s, in[0].as<double>(), in[1].as<double>(), out[0].as<double>(),
             static_cast<double*>(ctx.scratch))
      .run(ctx.pool);
  return {};
}

Status conv_transpose(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                      const void* attrs) {
  const TransposedShape s = shape_of(in, out, *static_cast<const ConvTransposeAttrs*>(attrs));
  const auto *x = in[0].as<double>(), *w = in[1].as<double>();
  auto* y = out[0].as<double>();
  Transposed(s, x, w, y, static_cast<double*>(ctx.scratch)).run(ctx.pool);
  leave_out_padding(s, x, w, y, ctx.pool);
  if (in.size() < 3 || !in[2].present()) return {};
  const auto* bias = in[2].as<double>();
  const int64_t channels = s.groups * s.writes;
  Poll poll;
  for (int64_t c = 0; c < s.n * channels && !poll(s.pixels()); ++c) {
    const double add = bias[c % channels];
    for (int64_t i = 0; i < s.pixels(); ++i, ++y) *y = *y + add;
  }
  return {};
}

constexpr KernelRow kInputGrad[] = {{"conv_input_grad.f64.simd", kContiguous, match<ConvGradAttrs>,
                                     plan<ConvGradAttrs>, nullptr, input_grad}};
constexpr KernelRow kConvTranspose[] = {{"conv_transpose.f64.simd", kContiguous,
                                         match<ConvTransposeAttrs>, plan<ConvTransposeAttrs>,
                                         nullptr, conv_transpose}};

}  // namespace

constinit const Span<const KernelRow> kWideRows_ConvInputGrad = kInputGrad;
constinit const Span<const KernelRow> kWideRows_ConvTranspose = kConvTranspose;

}  // namespace wick
