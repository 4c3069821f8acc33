#include "trainer/loop/answers.h"

#include <algorithm>
#include <cmath>

#include "trainer/explain/values.h"

namespace wick::loop {
namespace {

void take_pixels(const Tensor& inputs, int64_t row, Mistake* m) {
  const TensorView& v = inputs.raw();
  const bool grey = v.rank() == 3;
  if (!grey && (v.rank() != 4 || (v.shape[1] != 1 && v.shape[1] != 3))) return;
  const int64_t channels = grey ? 1 : v.shape[1];
  const int dy = grey ? 1 : 2, dx = dy + 1;
  if (v.shape[dy] < 1 || v.shape[dx] < 1) return;
  const int64_t stride = (std::max(v.shape[dy], v.shape[dx]) + Answers::kSide - 1) / Answers::kSide;
  m->height = (v.shape[dy] + stride - 1) / stride;
  m->width = (v.shape[dx] + stride - 1) / stride;
  m->channels = channels;
  std::vector<double> values;
  for (int64_t y = 0; y < m->height; ++y) {
    for (int64_t x = 0; x < m->width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t at = row * v.strides[0] + (grey ? 0 : c * v.strides[1]) +
                           y * stride * v.strides[dy] + x * stride * v.strides[dx];
        const double value = element(v, at);
        values.push_back(std::isfinite(value) ? value : 0);
      }
    }
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double range = *high - *low;
  for (double x : values) {
    m->pixels.push_back(range > 0 ? static_cast<uint8_t>(std::lround((x - *low) / range * 255))
                                  : uint8_t{0});
  }
}

}  // namespace

void Answers::add(const data::Batch& batch, const Tensor& logits) {
  const int64_t first = items_;
  if (batch.size() < 2 || logits.layout().rank() != 2 || batch[1].layout().rank() != 1 ||
      batch[1].layout().dtype != DType::kI64) {
    return;
  }
  const TensorView& z = logits.raw();
  const TensorView& y = batch[1].raw();
  const int64_t n = z.shape[0], c = z.shape[1];
  if (y.shape[0] != n || c < 1 || (classes_ != 0 && classes_ != c)) return;
  if (classes_ == 0 && c <= kClasses) confusion_.assign(static_cast<size_t>(c * c), 0);
  classes_ = c;
  items_ += n;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t target = y.as<int64_t>()[i * y.strides[0]];
    if (target < 0 || target >= c) continue;
    auto logit = [&](int64_t k) { return element(z, i * z.strides[0] + k * z.strides[1]); };
    int64_t top = 0;
    for (int64_t k = 1; k < c; ++k) {
      if (logit(k) > logit(top)) top = k;
    }
    if (!confusion_.empty()) ++confusion_[static_cast<size_t>(target * c + top)];
    if (top == target) continue;
    double sum = 0;
    for (int64_t k = 0; k < c; ++k) sum += std::exp(logit(k) - logit(top));
    Mistake m;
    m.index = first + i;
    m.target = target;
    m.predicted = top;
    m.probability = 1 / sum;
    m.loss = logit(top) - logit(target) + std::log(sum);
    if (!std::isfinite(m.loss)) continue;
    if (worst_.size() == kMistakes && m.loss <= worst_.back().loss) continue;
    take_pixels(batch[0], i, &m);
    auto at = std::upper_bound(worst_.begin(), worst_.end(), m,
                               [](const Mistake& a, const Mistake& b) { return a.loss > b.loss; });
    worst_.insert(at, std::move(m));
    if (worst_.size() > kMistakes) worst_.pop_back();
  }
}

}  // namespace wick::loop
