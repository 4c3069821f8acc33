// The answers of a classifier in one evaluation: its confusion matrix and its worst mistakes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"

namespace wick::loop {

struct Mistake {
  int64_t index = 0;  // in the order of the loader
  int64_t target = 0, predicted = 0;
  double loss = 0, probability = 0;  // -log p(target); p(predicted)
  // The picture of an item [H, W], [1, H, W] or [3, H, W]: bytes row by row, channels last, scaled
  // so that the smallest value is 0 and the largest 255, with every second (third ...) pixel if a
  // side is longer than kSide. Empty for other items.
  int64_t width = 0, height = 0, channels = 0;
  std::vector<uint8_t> pixels;
};

class Answers {
 public:
  static constexpr int64_t kClasses = 64;  // with more classes there is no matrix
  static constexpr size_t kMistakes = 16;
  static constexpr int64_t kSide = 64;
  // logits [N, C]; the batch's second field is int64 [N]. Items whose target is not in [0, C) are
  // skipped.
  void add(const data::Batch& batch, const Tensor& logits);
  int64_t classes() const { return classes_; }
  int64_t items() const { return items_; }
  // classes() * classes() counts: rows are targets, columns answers. Empty for more than kClasses.
  const std::vector<int64_t>& confusion() const { return confusion_; }
  // Largest loss first; of equal losses the earlier item comes first.
  const std::vector<Mistake>& worst() const { return worst_; }

 private:
  int64_t classes_ = 0, items_ = 0;
  std::vector<int64_t> confusion_;
  std::vector<Mistake> worst_;
};

}  // namespace wick::loop
