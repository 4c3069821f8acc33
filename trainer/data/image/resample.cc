#include "trainer/data/image/resample.h"

#include <algorithm>
#include <cmath>

#include "trainer/tensor/ops/matmul.h"

namespace wick::data {
namespace {

constexpr int kBits = 32 - 8 - 2;  // PIL's PRECISION_BITS

std::vector<std::vector<int32_t>> fixed(const ResampleWeights& w) {
  std::vector<std::vector<int32_t>> all;
  for (const auto& row : w.weights) {
    std::vector<int32_t> k;
    // Pillow's rounding, to the bit.
    // NOLINTNEXTLINE(bugprone-incorrect-roundings)
    for (double x : row) k.push_back(static_cast<int32_t>(0.5 + x * (1 << kBits)));
    all.push_back(std::move(k));
  }
  return all;
}

uint8_t clip8(int64_t sum) {
  return static_cast<uint8_t>(std::clamp<int64_t>(sum >> kBits, 0, 255));
}

// One pass of `lines` lines from in to out pixels. Consecutive pixels of a line are `step` apart,
// consecutive lines `line_in` and `line_out`.
struct Pass {
  const uint8_t* from;
  uint8_t* to;
  int64_t lines, step, line_in, line_out;
};
void run(const Pass& p, const ResampleWeights& w) {
  std::vector<std::vector<int32_t>> k = fixed(w);
  for (int64_t line = 0; line < p.lines; ++line) {
    const uint8_t* from = p.from + line * p.line_in;
    uint8_t* to = p.to + line * p.line_out;
    for (size_t i = 0; i < k.size(); ++i) {
      int64_t sum = int64_t{1} << (kBits - 1);
      for (size_t j = 0; j < k[i].size(); ++j) {
        sum += int64_t{from[(w.first[i] + static_cast<int64_t>(j)) * p.step]} * k[i][j];
      }
      to[static_cast<int64_t>(i) * p.step] = clip8(sum);
    }
  }
}

}  // namespace

ResampleWeights resample_weights(int64_t in, int64_t out) {
  ResampleWeights result;
  double scale = static_cast<double>(in) / static_cast<double>(out);
  double filter = std::max(scale, 1.0), support = filter;  // the triangle's is 1 wide
  for (int64_t i = 0; i < out; ++i) {
    double center = (static_cast<double>(i) + 0.5) * scale;
    // NOLINTBEGIN(bugprone-incorrect-roundings)
    int64_t first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    int64_t last = std::min<int64_t>(in, static_cast<int64_t>(center + support + 0.5));
    // NOLINTEND(bugprone-incorrect-roundings)
    std::vector<double> w;
    double sum = 0;
    for (int64_t x = first; x < last; ++x) {
      double d = std::fabs((static_cast<double>(x) - center + 0.5) / filter);
      w.push_back(d < 1 ? 1 - d : 0);
      sum += w.back();
    }
    for (double& each : w) each /= sum;
    result.first.push_back(first);
    result.weights.push_back(std::move(w));
  }
  return result;
}

Tensor resample_matrix(int64_t in, int64_t out) {
  ResampleWeights w = resample_weights(in, out);
  Tensor matrix = zeros({out, in});
  auto* to = static_cast<float*>(matrix.raw().data);
  for (int64_t i = 0; i < out; ++i) {
    const auto& row = w.weights[static_cast<size_t>(i)];
    for (size_t j = 0; j < row.size(); ++j) {
      to[i * in + w.first[static_cast<size_t>(i)] + static_cast<int64_t>(j)] =
          static_cast<float>(row[j]);
    }
  }
  return matrix;
}

Tensor resize_bytes(const Tensor& image, int64_t height, int64_t width) {
  Tensor x = image.contiguous();
  Shape shape = x.raw_shape();
  int rank = shape.rank();
  int64_t h = shape[rank - 2], w = shape[rank - 1];
  int64_t planes = h * w == 0 ? 0 : x.numel() / (h * w);
  if (w != width) {
    shape[rank - 1] = width;
    Tensor out = empty(shape, DType::kU8);
    run({static_cast<const uint8_t*>(x.raw().data), static_cast<uint8_t*>(out.raw().data),
         planes * h, 1, w, width},
        resample_weights(w, width));
    x = out;
  }
  if (h != height) {
    shape[rank - 2] = height;
    Tensor out = empty(shape, DType::kU8);
    ResampleWeights weights = resample_weights(h, height);
    for (int64_t p = 0; p < planes; ++p) {
      run({static_cast<const uint8_t*>(x.raw().data) + p * h * width,
           static_cast<uint8_t*>(out.raw().data) + p * height * width, width, width, 1, 1},
          weights);
    }
    x = out;
  }
  return x;
}

Tensor resize_floats(const Arg& image, const Tensor& rows, const Tensor& columns) {
  Tensor wide = matmul(image, columns.transpose(0, 1));
  return matmul(rows, wide);
}

}  // namespace wick::data
