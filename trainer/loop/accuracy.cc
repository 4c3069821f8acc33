#include "trainer/loop/accuracy.h"

#include "wick/error.h"

namespace wick::loop {
namespace {

Correct count(const Tensor& logits, const Tensor& target, int64_t classes) {
  const Tensor rows = logits.detach().contiguous().to(DType::kF32);
  const Tensor labels = target.detach().contiguous();
  const float* x = rows.data<float>();
  const int64_t* y = labels.data<int64_t>();
  Correct result;
  const int64_t n = labels.layout().numel();
  for (int64_t i = 0; i < n; ++i) {
    int64_t top = 0;
    for (int64_t c = 1; c < classes; ++c) {
      if (x[i * classes + c] > x[i * classes + top]) top = c;
    }
    result.correct += top == y[i];
    result.predictions += y[i] >= 0;
  }
  return result;
}

}  // namespace

std::optional<Correct> correct_of(const Tensor& output, const Tensor& target) {
  const int rank = output.rank();
  if (rank < 2 || !is_float(output.layout().dtype) || target.layout().dtype != DType::kI64)
    return {};
  const int64_t classes = output.raw_shape()[static_cast<size_t>(rank - 1)];
  if (classes < 2 || output.layout().numel() != classes * target.layout().numel()) return {};
  return count(output, target, classes);
}

int64_t count_correct(const Tensor& logits, const Tensor& target) {
  if (logits.rank() != 2 || target.rank() != 1 || target.raw_shape()[0] != logits.raw_shape()[0]) {
    throw Error(std::string("[accuracy] logits ") + to_text(logits.raw_shape()).text + ", target " +
                    to_text(target.raw_shape()).text,
                Code::kShapeMismatch);
  }
  return count(logits, target, logits.raw_shape()[1]).correct;
}

}  // namespace wick::loop
