// Strided copies beside element by element: runs of every length, element sizes, steps of either
// sign, and transposes.
#include "runtime/kernels/copy.h"

#include <cstring>

#include "runtime/core/narrow.h"
#include "tests/kernels/kernel_test_util.h"

namespace wick {
namespace {

using test::Random;

struct Strided {
  std::vector<uint8_t> bytes;
  TensorView view;
};

// A view of `shape` whose rows have room for some elements more than they use, with random bytes.
Strided strided(Random& random, DType dtype, const Shape& shape, const int* order) {
  Strided s;
  s.view = TensorView(nullptr, dtype, shape);
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const int d = order[i];
    s.view.strides[d] = step;
    step *= shape[d] + static_cast<int64_t>(random.next() % 3);
  }
  const auto width = static_cast<int64_t>(dtype_bits(dtype)) / 8;
  s.bytes.resize(static_cast<size_t>(step * width));
  for (uint8_t& b : s.bytes) b = static_cast<uint8_t>(random.next());
  s.view.data = s.bytes.data();
  for (int d = 0; d < shape.rank(); ++d) {  // some axes run backwards
    if (random.next() % 4 != 0) continue;
    s.view.data = static_cast<char*>(s.view.data) + (shape[d] - 1) * s.view.strides[d] * width;
    s.view.strides[d] = -s.view.strides[d];
  }
  return s;
}

TEST(Copy, EveryElementIsCopiedAndNoOther) {
  Random random(31);
  const DType dtypes[] = {DType::kI8, DType::kF16, DType::kF32, DType::kI64, DType::kC128};
  for (int i = 0; i < 3000; ++i) {
    const DType dtype = dtypes[random.next() % 5];
    const auto width = static_cast<size_t>(dtype_bits(dtype)) / 8;
    Shape shape;
    const int rank = 1 + static_cast<int>(random.next() % 4);
    for (int d = 0; d < rank; ++d) shape.push_back(static_cast<int64_t>(1 + random.next() % 9));
    const int orders[2][4] = {{0, 1, 2, 3}, {rank - 1, rank - 2, rank - 3, rank - 4}};
    const Strided src = strided(random, dtype, shape, orders[random.next() % 2]);
    Strided dst = strided(random, dtype, shape, orders[0]);
    for (int d = 0; d < rank; ++d) {  // what is written runs forwards
      if (dst.view.strides[d] > 0) continue;
      dst.view.strides[d] = -dst.view.strides[d];
      dst.view.data = static_cast<char*>(dst.view.data) -
                      (shape[d] - 1) * dst.view.strides[d] * static_cast<int64_t>(width);
    }
    std::vector<uint8_t> expected = dst.bytes;
    const auto* from = static_cast<const char*>(src.view.data);
    for (int64_t e = 0; e < numel(shape); ++e) {
      int64_t at[2] = {}, rest = e;
      for (int d = rank - 1; d >= 0; rest /= shape[d--]) {
        at[0] += rest % shape[d] * src.view.strides[d];
        at[1] += rest % shape[d] * dst.view.strides[d];
      }
      memcpy(expected.data() + at[1] * static_cast<int64_t>(width),
             from + at[0] * static_cast<int64_t>(width), width);
    }
    copy_strided(src.view, dst.view);
    ASSERT_EQ(dst.bytes, expected) << to_text(shape).text << " of " << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace wick
