#include "trainer/kernels/wide/window.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/int_math.h"

namespace wick {

WideWindow::WideWindow(const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& a)
    : n(x[0]), ic(x[1]), oc(w[0]), group_in(w[1]), group_out(w[0] / a.group) {
  const int spatial = x.rank() - 2;
  for (int i = 0; i < spatial; ++i) {
    const int d = 3 - spatial + i;
    in[d] = x[2 + i], kernel[d] = w[2 + i], out[d] = y[2 + i];
    stride[d] = a.strides.at_or(i, 1), dilation[d] = a.dilations.at_or(i, 1);
    pad[d] = a.pads.at_or(i, 0);
  }
}

void copy_line(const double* from, int64_t size, int64_t at, int64_t step, int64_t count,
               double* to) {
  int64_t begin = 0, end = count;
  if (at < 0) begin = step == 1 ? std::min(count, -at) : std::min(count, ceil_div(-at, step));
  if (at + (count - 1) * step >= size)
    end = at >= size ? begin : std::clamp(ceil_div(size - at, step), begin, count);
  // Lines are short: plain loops cost less than calls.
  int64_t i = 0;
  for (; i < begin; ++i) to[i] = 0;
  if (step == 1) {
    for (; i + 4 <= end; i += 4) memcpy(to + i, from + at + i, 4 * sizeof(double));
    for (; i < end; ++i) to[i] = from[at + i];
  } else {
    for (; i < end; ++i) to[i] = from[at + i * step];
  }
  for (; i < count; ++i) to[i] = 0;
}

void WideInputs::row(int64_t k, int64_t j, int64_t cols, double* to) const {
  const int64_t tap = k % w_.taps(), channel = k / w_.taps();
  const int64_t kd = tap / (w_.kernel[1] * w_.kernel[2]), kh = tap / w_.kernel[2] % w_.kernel[1],
                kw = tap % w_.kernel[2];
  const double* image = x_ + channel * w_.pixels();
  int64_t q = j % w_.out[2], r = j / w_.out[2] % w_.out[1], d = j / w_.out[2] / w_.out[1];
  while (cols > 0) {  // outputs of one line at a time
    const int64_t count = std::min(cols, w_.out[2] - q);
    const int64_t deep = d * w_.stride[0] - w_.pad[0] + kd * w_.dilation[0],
                  high = r * w_.stride[1] - w_.pad[1] + kh * w_.dilation[1];
    if (deep < 0 || deep >= w_.in[0] || high < 0 || high >= w_.in[1]) {
      std::fill_n(to, count, 0.0);
    } else {
      copy_line(image + (deep * w_.in[1] + high) * w_.in[2], w_.in[2],
                q * w_.stride[2] - w_.pad[2] + kw * w_.dilation[2], w_.stride[2], count, to);
    }
    to += count, cols -= count, q = 0;
    if (++r == w_.out[1]) r = 0, ++d;
  }
}

void WideInputsByOutput::row(int64_t k, int64_t j, int64_t cols, double* to) const {
  const int64_t q = k % w_.out[2], r = k / w_.out[2] % w_.out[1], d = k / w_.out[2] / w_.out[1];
  const int64_t width = w_.kernel[2];
  int64_t kw = j % width, kh = j / width % w_.kernel[1],
          kd = j / width / w_.kernel[1] % w_.kernel[0], channel = j / w_.taps();
  while (cols > 0) {  // one line of the kernel at a time
    const int64_t count = std::min(cols, width - kw);
    const int64_t deep = d * w_.stride[0] - w_.pad[0] + kd * w_.dilation[0],
                  high = r * w_.stride[1] - w_.pad[1] + kh * w_.dilation[1];
    if (deep < 0 || deep >= w_.in[0] || high < 0 || high >= w_.in[1]) {
      std::fill_n(to, count, 0.0);
    } else {
      copy_line(x_ + (channel * w_.in[0] + deep) * w_.in[1] * w_.in[2] + high * w_.in[2], w_.in[2],
                q * w_.stride[2] - w_.pad[2] + kw * w_.dilation[2], w_.dilation[2], count, to);
    }
    to += count, cols -= count, kw = 0;
    if (++kh == w_.kernel[1]) kh = 0, ++kd;
    if (kd == w_.kernel[0]) kd = 0, ++channel;
  }
}

}  // namespace wick
