#include "trainer/kernels/wide/window.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

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

namespace {

// The elements [begin, end) of `count` that lie within [0, size): element i is at + i * step.
struct Inside {
  int64_t begin, end;
  Inside(int64_t at, int64_t step, int64_t count, int64_t size) {
    begin = at >= 0 ? 0 : std::min(count, step == 1 ? -at : ceil_div(-at, step));
    end = count;
    if (at + (count - 1) * step >= size)
      end = at >= size ? begin : std::clamp(ceil_div(size - at, step), begin, count);
  }
};

// Copies N neighbours `count` times: a copy of a length that the compiler knows has no loop.
using Copies = void (*)(const double* from, int64_t from_step, double* to, int64_t to_step,
                        int64_t count);
template <size_t N>
void copies(const double* from, int64_t from_step, double* to, int64_t to_step, int64_t count) {
  for (; count > 0; --count, from += from_step, to += to_step) memcpy(to, from, N * sizeof(double));
}
template <size_t... N>
constexpr std::array<Copies, sizeof...(N)> all_copies(std::index_sequence<N...>) {
  return {&copies<N>...};
}
constexpr auto kCopies = all_copies(std::make_index_sequence<kWideMostColumns + 1>());

void window_move(const void* of, int64_t tap, int64_t* to) {
  const auto& w = *static_cast<const WideWindow*>(of);
  const int64_t at[3] = {tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1],
                         tap % w.kernel[2]};
  for (int d = 0; d < 3; ++d) to[d] = at[d] * w.dilation[d] - w.pad[d];
}

}  // namespace

void pack_lines(const WideLines& l, int64_t k, int64_t depth, int64_t j, int64_t cols,
                int64_t columns, double* panels) {
  const int64_t plane = l.in[0] * l.in[1] * l.in[2], step = l.step[2];
  for (int64_t t = 0; t < l.taps && t < depth; ++t) {
    int64_t move[3];
    l.move(l.of, (k + t) % l.taps, move);
    const double* first = l.x + (k + t) / l.taps * plane;
    int64_t q = j % l.out[2], r = j / l.out[2] % l.out[1], d = j / l.out[2] / l.out[1];
    for (int64_t c = 0; c < cols;) {
      const int64_t n = std::min({cols - c, l.out[2] - q, columns - c % columns});
      const int64_t deep = d * l.step[0] + move[0], high = r * l.step[1] + move[1],
                    wide = q * step + move[2];
      Inside in(wide, step, n, l.in[2]);
      if (deep < 0 || deep >= l.in[0] || high < 0 || high >= l.in[1]) in.begin = in.end = 0;
      const int64_t line = (deep * l.in[1] + high) * l.in[2] + wide;
      double* piece = panels + c / columns * columns * depth + c % columns;
      const int64_t found = in.end - in.begin, count = ceil_div(depth - t, l.taps);
      if (found > 0 && step == 1) {
        kCopies[static_cast<size_t>(found)](first + (line + in.begin), plane,
                                            piece + t * columns + in.begin, l.taps * columns,
                                            count);
      }
      if (found < n || step != 1) {
        const double* from = first;
        for (int64_t i = t; i < depth; i += l.taps, from += plane) {
          double* to = piece + i * columns;
          for (int64_t p = 0; p < in.begin; ++p) to[p] = 0;
          for (int64_t p = in.begin; p < in.end && step != 1; ++p) to[p] = from[line + p * step];
          for (int64_t p = in.end; p < n; ++p) to[p] = 0;
        }
      }
      c += n, q += n;
      if (q == l.out[2]) q = 0, ++r;
      if (r == l.out[1]) r = 0, ++d;
    }
  }
  for (int64_t c = cols; c % columns != 0; ++c) {
    double* to = panels + c / columns * columns * depth + c % columns;
    for (int64_t i = 0; i < depth; ++i) to[i * columns] = 0;
  }
}

void WideInputs::pack(int64_t k, int64_t depth, int64_t j, int64_t cols, int64_t columns,
                      double* panels) const {
  WideLines l;
  l.x = x_;
  for (int d = 0; d < 3; ++d) l.in[d] = w_.in[d], l.out[d] = w_.out[d], l.step[d] = w_.stride[d];
  l.taps = w_.taps();
  l.move = window_move, l.of = &w_;
  pack_lines(l, k, depth, j, cols, columns, panels);
}

void WideInputsByOutput::pack(int64_t k, int64_t depth, int64_t j, int64_t cols, int64_t columns,
                              double* panels) const {
  for (int64_t c0 = 0; c0 < cols; c0 += columns) {
    double* panel = panels + c0 * depth;
    const int64_t some = std::min(columns, cols - c0), step = w_.stride[2];
    int64_t move[kWideMostColumns][3], plane[kWideMostColumns];
    for (int64_t c = 0; c < some; ++c) {
      window_move(&w_, (j + c0 + c) % w_.taps(), move[c]);
      plane[c] = (j + c0 + c) / w_.taps() * w_.pixels();
    }
    int64_t q = k % w_.out[2], r = k / w_.out[2] % w_.out[1], d = k / w_.out[2] / w_.out[1];
    for (int64_t i = 0; i < depth;) {  // a line of outputs for all columns of a panel
      const int64_t n = std::min(depth - i, w_.out[2] - q);
      for (int64_t c = 0; c < some; ++c) {
        const int64_t deep = d * w_.stride[0] + move[c][0], high = r * w_.stride[1] + move[c][1],
                      wide = q * step + move[c][2];
        Inside in(wide, step, n, w_.in[2]);
        if (deep < 0 || deep >= w_.in[0] || high < 0 || high >= w_.in[1]) in.begin = in.end = 0;
        const int64_t line = (deep * w_.in[1] + high) * w_.in[2] + wide;
        const double* from = x_ + plane[c];
        double* to = panel + i * columns + c;
        for (int64_t p = 0; p < in.begin; ++p) to[p * columns] = 0;
        for (int64_t p = in.begin; p < in.end; ++p) to[p * columns] = from[line + p * step];
        for (int64_t p = in.end; p < n; ++p) to[p * columns] = 0;
      }
      i += n, q = 0;
      if (++r == w_.out[1]) r = 0, ++d;
    }
    for (int64_t c = some; c < columns; ++c) {
      for (int64_t i = 0; i < depth; ++i) panel[i * columns + c] = 0;
    }
  }
}

}  // namespace wick
