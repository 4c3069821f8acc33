// Behaviour of tensors and autograd that PyTorch users take for granted, one claim a test.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

std::vector<int64_t> strides_of(const Tensor& t) {
  std::vector<int64_t> s;
  for (int d = 0; d < t.rank(); ++d) s.push_back(t.strides()[d]);
  return s;
}
bool shares(const Tensor& a, const Tensor& b) { return &a.storage() == &b.storage(); }

TEST(Guide, StridesOfATransposedTwoByThree) {
  Tensor x = arange(6).reshape({2, 3});
  EXPECT_EQ(strides_of(x), (std::vector<int64_t>{3, 1}));
  EXPECT_TRUE(x.is_contiguous());
  Tensor t = x.t();
  EXPECT_EQ(strides_of(t), (std::vector<int64_t>{1, 3}));
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(t.raw().data, x.raw().data);
  EXPECT_EQ(t.to_vector<int64_t>(), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
}

TEST(Guide, ContiguousCopiesOnlyWhatIsNot) {
  Tensor x = arange(6).reshape({2, 3});
  EXPECT_EQ(x.contiguous().raw().data, x.raw().data);
  Tensor copy = x.t().contiguous();
  EXPECT_FALSE(shares(copy, x));
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_EQ(copy.to_vector<int64_t>(), x.t().to_vector<int64_t>());
}

TEST(Guide, ViewOfATransposeSaysWhatToDo) {
  Tensor x = arange(12).reshape({3, 4});
#line 40 "train.cpp"
  EXPECT_EQ(test::error_of([&] { x.t().view({12}); }),
            "[view] size [12] is not compatible with stride [1,4]; use reshape() (copies) or "
            "contiguous().view() (train.cpp:40)");
#line 45 "guide_test.cc"
  Tensor copy = x.t().reshape({12}), by_hand = x.t().contiguous().view({12});
  EXPECT_FALSE(shares(copy, x));
  EXPECT_EQ(copy.to_vector<int64_t>(), by_hand.to_vector<int64_t>());
  EXPECT_TRUE(shares(x.reshape({12}), x));
}

TEST(Guide, DetachSharesBytesAndVersion) {
  Tensor x = ones({3}).requires_grad_();
  Tensor y = x * 2, cut = y.detach();
  EXPECT_TRUE(shares(cut, y));
  uint32_t before = y.version();
  cut.fill_(7);
  EXPECT_EQ(y.version(), before + 1);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(3, 7));
}

}  // namespace
}  // namespace wick
