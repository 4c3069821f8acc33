// Byte product rows for machines with little memory (WICK_SMALL): weights are read in place, in
// flash or in the file, and nothing is packed. A line of x with its zero point subtracted is
// multiplied by four rows of weights at a time.
#include <algorithm>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/core/quantized_dtype.h"
#include "runtime/kernels/bytes/qlinear.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/scratch.h"

namespace wick {
namespace {

uint32_t wrapped(int64_t v) { return static_cast<uint32_t>(v); }

// A vector of bytes of one operand: element i is data[i * step].
struct Bytes {
  const uint8_t* data;
  bool is_signed;
  int64_t step;
};
Bytes bytes_of(const TensorView& t, int64_t at, int64_t step) {
  return {static_cast<const uint8_t*>(t.data) + at, t.dtype == DType::kI8, step};
}

// x[0, k) with its zero point subtracted.
struct Line {
  int16_t* x;
  int64_t k;

  void fill(const Bytes& from, int32_t zero) const {
    for (int64_t l = 0; l < k; ++l) {
      const uint8_t v = from.data[l * from.step];
      x[l] = static_cast<int16_t>((from.is_signed ? static_cast<int8_t>(v) : v) - zero);
    }
  }
  uint32_t sum() const {
    uint32_t all = 0;
    for (int64_t l = 0; l < k; ++l) all += wrapped(x[l]);
    return all;
  }
};

// Computes sums[r] for kRows rows of the weights with stride `row`.
template <class W, int kRows>
void dots(const Line& line, const Bytes& w, int64_t row, uint32_t* sums) {
  const auto* at = reinterpret_cast<const W*>(w.data);
  uint32_t sum[kRows] = {};
  for (int64_t l = 0; l < line.k; ++l, at += w.step) {
    const int32_t x = line.x[l];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sum[r] += wrapped(x * at[r * row]);
  }
  std::copy(sum, sum + kRows, sums);
}

// The weights to multiply by, and their zero points: per row, or one for all (step 0).
struct Weights {
  Bytes bytes;
  int64_t rows, row;  // number of rows and their stride
  const TensorView* zeros = nullptr;
  int64_t zero_at = 0, zero_step = 0;

  bool has_zeros() const {
    if (zeros == nullptr) return false;
    for (int64_t r = 0; r < (zero_step == 0 ? 1 : rows); ++r)
      if (byte_at(*zeros, zero_at + r * zero_step) != 0) return true;
    return false;
  }
};
// Sets the zero points unless all of them are 0.
void take_zeros(Span<const TensorView> in, size_t i, int64_t at, int64_t step, Weights* w) {
  if (!has_input(in, i)) return;
  w->zeros = &in[i], w->zero_at = at, w->zero_step = step;
  if (!w->has_zeros()) w->zeros = nullptr;
}

// Calls f(row, sum) for every row of the weights.
void products(const Line& line, const Weights& w, Poll& poll,
              FunctionRef<void(int64_t, int32_t)> f) {
  const uint32_t all = w.zeros != nullptr ? line.sum() : 0;
  for (int64_t r = 0; r < w.rows;) {
    if (poll(4 * line.k + 4)) return;
    uint32_t sums[4];
    const bool four = r + 4 <= w.rows;
    Bytes at = w.bytes;
    at.data += r * w.row;
    if (at.is_signed) {
      four ? dots<int8_t, 4>(line, at, w.row, sums) : dots<int8_t, 1>(line, at, w.row, sums);
    } else {
      four ? dots<uint8_t, 4>(line, at, w.row, sums) : dots<uint8_t, 1>(line, at, w.row, sums);
    }
    for (int i = 0; i < (four ? 4 : 1); ++i, ++r) {
      if (w.zeros != nullptr)
        sums[i] -= wrapped(byte_at(*w.zeros, w.zero_at + r * w.zero_step)) * all;
      f(r, static_cast<int32_t>(sums[i]));
    }
  }
}

// The layout of scratch, in bytes: a number per output channel, and a line per worker.
struct Rooms {
  size_t channels, line;
};
Status keep(const Rooms& b, int threads, KernelPlan* p) {
  p->scratch_bytes =
      byte_count(uint64_t{b.channels} + uint64_t{b.line} * static_cast<uint64_t>(threads));
  return {};
}
size_t line_bytes(int64_t k) { return rounded(sizeof(int16_t) * static_cast<size_t>(k)); }
Line line_of(const KernelCtx& ctx, const Rooms& b, int worker, int64_t k) {
  auto* lines = static_cast<char*>(ctx.scratch) + b.channels;
  return {reinterpret_cast<int16_t*>(lines + static_cast<size_t>(worker) * b.line), k};
}

// Converts a sum to an output element.
struct End {
  const TensorView& y;
  const float* multiplier = nullptr;  // per channel; null: int32 sums
  const int32_t* bias = nullptr;      // added to the sum
  bool bytes = false;
  ByteRange to = {};

  void store(int64_t at, int64_t channel, int32_t sum) const {
    if (multiplier == nullptr) {
      y.as<int32_t>()[at] = sum;
      return;
    }
    if (bias != nullptr) sum = static_cast<int32_t>(wrapped(sum) + wrapped(bias[channel]));
    if (bytes) {
      store_byte(y, at, requantize(sum, multiplier[channel], to));
    } else {
      y.as<float>()[at] = static_cast<float>(sum) * multiplier[channel];
    }
  }
};
// Computes the multipliers of `channels` channels into scratch.
Status scaled(const KernelCtx& ctx, Span<const TensorView> in, size_t y, size_t bias,
              int64_t channels, End* end) {
  ProductScales scales;
  WICK_TRY(product_scales(in, 0, 3, y, &scales));
  auto* multiplier = static_cast<float*>(ctx.scratch);
  scales.fill(channels, multiplier);
  end->multiplier = multiplier;
  if (has_input(in, bias)) end->bias = in[bias].as<int32_t>();
  end->bytes = has_input(in, y + 1);
  if (end->bytes) end->to = byte_range(in[y + 1].dtype, zero_point(in, y + 1));
  return {};
}

// QLinearMatMul and MatMulInteger. `plain`: a, b, a's zero point, b's.
int64_t columns_of(const TensorView& b) { return b.rank() == 1 ? 1 : b.dim(b.rank() - 1); }
Rooms matmul_rooms(const TensorView& a, const TensorView& b) {
  return {rounded(sizeof(float) * static_cast<size_t>(columns_of(b))),
          line_bytes(a.dim(a.rank() - 1))};
}
void matmul(const KernelCtx& ctx, Span<const TensorView> plain, const End& end) {
  const IntegerProduct p(plain, end.y);
  const Shape& out = end.y.shape;
  const Rooms b = matmul_rooms(plain[0], plain[1]);
  parallel_for(ctx.pool, p.batches * p.m, [&](int64_t row, int worker) {
    const int64_t i = row % p.m, batch = row / p.m;
    const int64_t a_zero = p.has_a_zero ? p.a_zero.begin(batch, out) + i * p.a_zero.row : 0;
    const Line line = line_of(ctx, b, worker, p.k);
    line.fill(bytes_of(plain[0], p.a.begin(batch, out) + i * p.a.row, p.a.column),
              p.has_a_zero ? byte_at(plain[2], a_zero) : 0);
    Weights w{bytes_of(plain[1], p.b.begin(batch, out), p.b.row), p.n, p.b.column};
    if (p.has_b_zero) take_zeros(plain, 3, p.b_zero.begin(batch, out), p.b_zero.column, &w);
    Poll poll;
    products(line, w, poll, [&](int64_t j, int32_t sum) { end.store(row * p.n + j, j, sum); });
  });
}
constexpr size_t matmul_weight(OpId op) { return op == OpId::kMatMulInteger ? 1 : 3; }
template <OpId op>
bool match_matmul(const KernelQuery& q) {
  return is_byte(q.in[0].dtype) && is_byte(q.in[matmul_weight(op)].dtype);
}
template <OpId op>
Status plan_matmul(const KernelQuery& q, KernelPlan* p) {
  return keep(matmul_rooms(q.in[0], q.in[matmul_weight(op)]), q.threads, p);
}
Status run_qlinear_matmul(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                          const void*) {
  const TensorView plain[] = {in[0], in[3], in[2], in[5]};
  End end{out[0]};
  WICK_TRY(scaled(ctx, in, 6, in.size(), columns_of(in[3]), &end));
  matmul(ctx, {plain, 4}, end);
  return {};
}
Status run_matmul_integer(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                          const void*) {
  matmul(ctx, in, End{out[0]});
  return {};
}

// QGemm and DynamicLinear: rows of x by weights [outputs, k].
Rooms linear_rooms(const TensorView& w) {
  return {rounded(sizeof(float) * static_cast<size_t>(w.dim(0))), line_bytes(w.dim(1))};
}
template <OpId op>
Status plan_linear(const KernelQuery& q, KernelPlan* p) {
  return keep(linear_rooms(q.in[op == OpId::kQGemm ? 3 : 1]), q.threads, p);
}
Status run_gemm(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void*) {
  const int64_t n = in[3].dim(0), k = in[3].dim(1);
  End end{out[0]};
  WICK_TRY(scaled(ctx, in, 7, 6, n, &end));
  Weights w{bytes_of(in[3], 0, 1), n, k};
  take_zeros(in, 5, 0, in[5].numel() == 1 ? 0 : 1, &w);
  const Rooms b = linear_rooms(in[3]);
  parallel_for(ctx.pool, n == 0 ? 0 : out[0].numel() / n, [&](int64_t row, int worker) {
    const Line line = line_of(ctx, b, worker, k);
    line.fill(bytes_of(in[0], row * k, 1), zero_point(in, 2));
    Poll poll;
    products(line, w, poll, [&](int64_t j, int32_t sum) { end.store(row * n + j, j, sum); });
  });
  return {};
}
Status run_dynamic(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void*) {
  WICK_TRY(check_scale(in[2], "scale"));
  const int64_t n = in[1].dim(0), k = in[1].dim(1);
  const float* w_scale = in[2].as<float>();
  const float* bias = has_input(in, 3) ? in[3].as<float>() : nullptr;
  const Weights w{bytes_of(in[1], 0, 1), n, k};
  const Rooms b = linear_rooms(in[1]);
  parallel_for(ctx.pool, n == 0 ? 0 : out[0].numel() / n, [&](int64_t row, int worker) {
    const float* x = in[0].as<float>() + row * k;
    const Line line = line_of(ctx, b, worker, k);
    float lo = 0, hi = 0;
    for (int64_t l = 0; l < k; ++l) lo = x[l] < lo ? x[l] : lo, hi = x[l] > hi ? x[l] : hi;
    const RowRange range = row_range(lo, hi);
    Poll poll;
    for (int64_t l = 0; l < k; ++l) {
      if (poll(8)) return;
      line.x[l] = static_cast<int16_t>(row_byte(x[l], range) - static_cast<int32_t>(range.zero));
    }
    products(line, w, poll, [&](int64_t j, int32_t sum) {
      const float scale = range.scale * w_scale[in[2].numel() == 1 ? 0 : j];
      const float y = static_cast<float>(sum) * scale;
      out[0].as<float>()[row * n + j] = bias == nullptr ? y : y + bias[j];
    });
  });
  return {};
}

// A convolution over up to three spatial dims; missing leading dims are 1.
struct Taps {
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, to[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {};
  int64_t channels, k;  // per group

  Taps(const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& a) {
    const int spatial = x.rank() - 2;
    for (int i = 0; i < spatial; ++i) {
      const int d = 3 - spatial + i;
      size[d] = x[2 + i], kernel[d] = w[2 + i], to[d] = y[2 + i];
      stride[d] = a.strides.at_or(i, 1), dilation[d] = a.dilations.at_or(i, 1);
      pad[d] = a.pads.at_or(i, 0);
    }
    channels = numel(x) == 0 ? 0 : w[1];
    k = channels * kernel[0] * kernel[1] * kernel[2];
  }
  int64_t plane() const { return size[0] * size[1] * size[2]; }
  int64_t pixels() const { return to[0] * to[1] * to[2]; }

  // Gathers the inputs of an output pixel; padding equals the zero point, which contributes
  // nothing.
  void gather(const Bytes& x, int64_t pixel, int32_t zero, int16_t* line) const {
    const int64_t depth = pixel / (to[1] * to[2]) * stride[0] - pad[0];
    const int64_t top = pixel / to[2] % to[1] * stride[1] - pad[1];
    const int64_t left = pixel % to[2] * stride[2] - pad[2];
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < kernel[0] * kernel[1]; ++i) {
        const int64_t d = depth + i / kernel[1] * dilation[0];
        const int64_t h = top + i % kernel[1] * dilation[1];
        const bool inside = d >= 0 && d < size[0] && h >= 0 && h < size[1];
        const uint8_t* row = inside ? x.data + ((c * size[0] + d) * size[1] + h) * size[2] : x.data;
        for (int64_t t = 0, at = left; t < kernel[2]; ++t, at += dilation[2]) {
          int32_t v = zero;
          if (inside && at >= 0 && at < size[2])
            v = x.is_signed ? static_cast<int8_t>(row[at]) : row[at];
          *line++ = static_cast<int16_t>(v - zero);
        }
      }
    }
  }
};

constexpr size_t conv_weight(OpId op) { return op == OpId::kQLinearConv ? 3 : 1; }

Rooms conv_rooms(const Taps& t, const TensorView& w) {
  return {rounded(sizeof(float) * static_cast<size_t>(w.dim(0))), line_bytes(t.k)};
}
// `plain`: x, the weight, x's zero point, the weight's.
void conv(const KernelCtx& ctx, Span<const TensorView> plain, const ConvAttrs& a, const End& end) {
  const Shape &x = plain[0].shape, &y = end.y.shape;
  if (numel(y) == 0) return;
  const Taps t(x, plain[1].shape, y, a);
  const Rooms b = conv_rooms(t, plain[1]);
  const int64_t outputs = y[1] / a.group, pixels = t.pixels(), line_pixels = t.to[2];
  const int64_t lines = pixels / line_pixels;
  const int32_t zero = zero_point(plain, 2);
  parallel_for(ctx.pool, y[0] * a.group * lines, [&](int64_t task, int worker) {
    const int64_t part = task / lines, group = part % a.group, image = part / a.group;
    Weights w{bytes_of(plain[1], group * outputs * t.k, 1), outputs, t.k};
    const bool each = has_input(plain, 3) && plain[3].numel() != 1;
    take_zeros(plain, 3, each ? group * outputs : 0, each ? 1 : 0, &w);
    const Bytes from = bytes_of(plain[0], (image * a.group + group) * t.channels * t.plane(), 1);
    const Line line = line_of(ctx, b, worker, t.k);
    Poll poll;
    for (int64_t i = 0; i < line_pixels; ++i) {
      if (poll(8 * t.k + 1)) return;
      const int64_t pixel = task % lines * line_pixels + i;
      t.gather(from, pixel, zero, line.x);
      products(line, w, poll, [&](int64_t r, int32_t sum) {
        const int64_t o = group * outputs + r;
        end.store((image * y[1] + o) * pixels + pixel, o, sum);
      });
    }
  });
}
template <OpId op>
bool match_conv(const KernelQuery& q) {
  return is_byte(q.in[0].dtype) && is_byte(q.in[conv_weight(op)].dtype);
}
template <OpId op>
Status plan_conv(const KernelQuery& q, KernelPlan* p) {
  const TensorView& w = q.in[conv_weight(op)];
  const Taps t(q.in[0].shape, w.shape, q.out[0].shape, q.as<ConvAttrs>());
  return keep(conv_rooms(t, w), q.threads, p);
}
Status run_qlinear_conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs) {
  const TensorView plain[] = {in[0], in[3], in[2], in[5]};
  End end{out[0]};
  WICK_TRY(scaled(ctx, in, 6, 8, in[3].dim(0), &end));
  conv(ctx, {plain, 4}, *static_cast<const ConvAttrs*>(attrs), end);
  return {};
}
Status run_conv_integer(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs) {
  conv(ctx, in, *static_cast<const ConvAttrs*>(attrs), End{out[0]});
  return {};
}

bool any(const KernelQuery&) { return true; }

}  // namespace

WICK_CPU_ROWS(QLinearConv, {"qlinear_conv.bytes.place", kContiguous, match_conv<OpId::kQLinearConv>,
                            plan_conv<OpId::kQLinearConv>, nullptr, run_qlinear_conv});
WICK_CPU_ROWS(ConvInteger, {"conv_integer.bytes.place", kContiguous, match_conv<OpId::kConvInteger>,
                            plan_conv<OpId::kConvInteger>, nullptr, run_conv_integer});
WICK_CPU_ROWS(QLinearMatMul,
              {"qlinear_matmul.bytes.place", kContiguous, match_matmul<OpId::kQLinearMatMul>,
               plan_matmul<OpId::kQLinearMatMul>, nullptr, run_qlinear_matmul});
WICK_CPU_ROWS(MatMulInteger,
              {"matmul_integer.bytes.place", kContiguous, match_matmul<OpId::kMatMulInteger>,
               plan_matmul<OpId::kMatMulInteger>, nullptr, run_matmul_integer});
WICK_CPU_ROWS(QGemm, {"qgemm.bytes.place", kContiguous, any, plan_linear<OpId::kQGemm>, nullptr,
                      run_gemm});
WICK_CPU_ROWS(DynamicLinear, {"dynamic_linear.f32.place", kContiguous, any,
                              plan_linear<OpId::kDynamicLinear>, nullptr, run_dynamic});

}  // namespace wick
