// Tensors, views, dtypes, in-place writes and the texts of errors.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>

#include "wick/trainer.h"

namespace wick {
namespace {

using Floats = std::vector<float>;

#define EXPECT_ERROR(statement, text)                                                    \
  try {                                                                                  \
    statement;                                                                           \
    ADD_FAILURE() << "no error";                                                         \
  } catch (const Error& e) {                                                             \
    EXPECT_EQ(std::string(e.what()),                                                     \
              std::string(text) + " (tensor_test.cc:" + std::to_string(__LINE__) + ")"); \
  }

TEST(Tensor, ErrorsNameTheOpBothShapesAndTheLine) {
  Tensor a = ones({2, 3}), b = ones({4, 5});
  EXPECT_ERROR(matmul(a, b), "[matmul] inner dimensions differ: [2,3] x [4,5]");
  EXPECT_ERROR(
      a + b,
      "[add] shapes do not broadcast: [2,3] and [4,5] differ at dimension 0 (2 and 4); from "
      "the last one on, sizes must be equal or 1");
  EXPECT_ERROR(softmax(a, 3), "[softmax] axis 3 out of range for rank 2");
  EXPECT_ERROR(a.item(),
               "[item] only a tensor of size 1 can be converted to a C++ number, got [2,3]");
  EXPECT_ERROR(a.select(1, 3), "[select] index 3 out of range for dimension 1 of [2,3]");
  EXPECT_ERROR(a.backward(),
               "[backward] element 0 of tensors does not require grad and does not have a grad_fn");
  EXPECT_ERROR(a.t().view({6}),
               "[view] size [6] is not compatible with stride [1,3]; use reshape() (copies) or "
               "contiguous().view()");
  EXPECT_ERROR(a.data<double>(), "[data] the tensor is float32, not float64");
  EXPECT_ERROR(nn::make_model("vgg"),
               "[make_model] unknown model 'vgg'; known: lenet, mlp, mobilenet, resnet8");
}

TEST(Tensor, ViewsShareBytes) {
  Tensor x = arange(0, 12, 1, DType::kF32).reshape({3, 4});
  Tensor column = x.select(1, 2);
  EXPECT_EQ(column.to_vector<float>(), (Floats{2, 6, 10}));
  Tensor t = x.t();
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_EQ(t.contiguous().to_vector<float>(), (Floats{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(x.slice(1, 3, -5, -2).to_vector<float>(), (Floats{3, 1, 7, 5, 11, 9}));
  EXPECT_EQ(x.narrow(0, 1, 2).slice(1, 0, 4, 3).to_vector<float>(), (Floats{4, 7, 8, 11}));
  uint32_t before = x.version();
  t.select(0, 0).fill_(-1);  // the first column of x
  EXPECT_GT(x.version(), before);
  EXPECT_EQ(x.to_vector<float>(), (Floats{-1, 1, 2, 3, -1, 5, 6, 7, -1, 9, 10, 11}));
  x.narrow(0, 0, 1).copy_(tensor({7.f}));
  EXPECT_EQ(x.select(0, 0).to_vector<float>(), (Floats{7, 7, 7, 7}));
  EXPECT_EQ(x.unsqueeze(0).expand({2, 3, 4}).raw().strides[0], 0);
  EXPECT_EQ(x.storage().bytes(), 48u);
}

TEST(Tensor, ReshapeViewsWhatItCan) {
  Tensor x = arange(0, 24, 1, DType::kF32).reshape({2, 3, 4});
  auto shares = [&](const Tensor& t) { return &t.storage() == &x.storage(); };
  EXPECT_TRUE(shares(x.transpose(0, 1).reshape({3, 2, 2, 2})));
  EXPECT_FALSE(shares(x.transpose(0, 1).reshape({6, 4})));
  EXPECT_EQ(x.transpose(0, 1).reshape({3, 2, 2, 2}).to_vector<float>(),
            x.transpose(0, 1).to_vector<float>());
  EXPECT_EQ(x.transpose(0, 1).reshape({6, 4}).to_vector<float>(),
            x.transpose(0, 1).to_vector<float>());
  EXPECT_TRUE(shares(x.slice(2, 0, 4, 2).reshape({6, 2})));
  EXPECT_EQ(x.flatten(1).raw_shape(), (Shape{2, 12}));
  EXPECT_EQ(x.flatten(0, 1).raw_shape(), (Shape{6, 4}));
  EXPECT_EQ(zeros({0, 3}).reshape({3, 0}).raw_shape(), (Shape{3, 0}));
}

TEST(Tensor, PromotionFollowsPyTorch) {
  Tensor i = ones({2}, DType::kI32), f = ones({2}), d = ones({}, DType::kF64),
         b = ones({2}, DType::kBool);
  EXPECT_EQ((i + f).dtype(), DType::kF32);
  EXPECT_EQ((f + d).dtype(), DType::kF32);  // a 0-dim float64 does not widen
  EXPECT_EQ((i + d).dtype(), DType::kF64);  // but its category is higher
  EXPECT_EQ((i + 1).dtype(), DType::kI32);
  EXPECT_EQ((i + 1.5).dtype(), DType::kF32);
  EXPECT_EQ((i / i).dtype(), DType::kF32);
  EXPECT_EQ((b + i).dtype(), DType::kI32);
  EXPECT_EQ((ones({1}, DType::kU8) + ones({1}, DType::kI8)).dtype(), DType::kI16);
  EXPECT_EQ(sum(i).dtype(), DType::kI64);
  EXPECT_EQ((1 - f * 3).to_vector<float>(), (Floats{-2, -2}));
}

TEST(Tensor, PhiloxKnownAnswers) {
  // Random123's kat_vectors for philox4x32-10
  auto zero = philox(0, 0, 0);
  EXPECT_EQ(zero, (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  auto ones = philox(~0ull, ~0ull, ~0ull);
  EXPECT_EQ(ones, (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  manual_seed(5);
  Tensor a = rand({100}), b = rand({100});
  manual_seed(5);
  EXPECT_EQ(a.to_vector<float>(), rand({100}).to_vector<float>());
  EXPECT_NE(a.to_vector<float>(), b.to_vector<float>());
  Tensor n = randn({20000}, DType::kF64);
  EXPECT_NEAR(mean(n).item(), 0, 0.03);
  EXPECT_NEAR(mean(square(n)).item(), 1, 0.05);
}

TEST(Tensor, InPlaceIsRefusedWhereItWouldBeRecorded) {
  Tensor w = ones({2}).requires_grad_();
  EXPECT_ERROR(w.add_(ones({2})),
               "[add_] a leaf that requires grad cannot be modified in place; use NoGrad");
  {
    NoGrad guard;
    w.add_(ones({2}), 3).mul_(0.5);
  }
  EXPECT_EQ(w.to_vector<float>(), (Floats{2, 2}));
  Tensor plain = zeros({2});
  plain.copy_(w);  // recorded: plain now depends on w
  EXPECT_TRUE(plain.requires_grad());
  EXPECT_EQ(plain.to_vector<float>(), (Floats{2, 2}));
}

// Views of one storage: what is written must not be read again as an operand.
TEST(Tensor, InPlaceOnOverlappingViewsGivesTheOutOfPlaceResult) {
  Tensor start = arange(0, 100, 1, DType::kF32) + 1;
  auto same = [&](auto view, auto other) {
    Tensor x = start.clone(), y = start.clone(), z = start.clone();
    std::vector<float> sum = (view(x) + other(x)).template to_vector<float>();
    std::vector<float> product = (view(x) * other(x)).template to_vector<float>();
    view(x).add_(other(x));
    EXPECT_EQ(view(x).template to_vector<float>(), sum);
    view(y).mul_(other(y));
    EXPECT_EQ(view(y).template to_vector<float>(), product);
    view(z).copy_(other(z));
    EXPECT_EQ(view(z).template to_vector<float>(), other(start).template to_vector<float>());
  };
  auto all = [](const Tensor& x) { return x; };
  auto low = [](const Tensor& x) { return x.slice(0, 0, 99); };
  auto high = [](const Tensor& x) { return x.slice(0, 1, 100); };
  auto square = [](const Tensor& x) { return x.reshape({10, 10}); };
  auto turned = [](const Tensor& x) { return x.reshape({10, 10}).t(); };
  same(high, low);
  same(low, high);
  same(square, turned);
  same(turned, square);
  same(all, all);
  // Strides apart and bytes in common: an element written early is read late.
  auto odd = [](const Tensor& x) { return x.slice(0, 1, 100, 2); };
  auto half = [](const Tensor& x) { return x.slice(0, 0, 50); };
  same(odd, half);
  same(half, odd);
}

// As in a session, the caller's float mode changes no bit, and stays as it was.
TEST(Tensor, FloatModeOfTheCallerChangesNothing) {
  manual_seed(3);
  Tensor x = randn({3, 70}), w = randn({9, 70});
  auto both = [&] { return std::vector{linear(x, w), exp(x), sum(x * 0.1, {1})}; };
  std::vector<Tensor> want = both();
  fesetround(FE_UPWARD);
  std::vector<Tensor> got = both();
  int mode = fegetround();
  fesetround(FE_TONEAREST);
  EXPECT_EQ(mode, FE_UPWARD);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(memcmp(want[i].data<float>(), got[i].data<float>(), want[i].raw().nbytes()), 0) << i;
  }
}

TEST(Tensor, LossesMatchTheirFormulas) {
  Tensor logits = tensor({{1., 2., 3.}, {1., 1., 1.}}, DType::kF64),
         target = tensor<int64_t>({2, 0});
  double first = std::log(std::exp(-2.0) + std::exp(-1.0) + 1), second = std::log(3.0);
  EXPECT_NEAR(cross_entropy(logits, target).item(), (first + second) / 2, 1e-12);
  EXPECT_NEAR(cross_entropy(logits, target, Reduction::kSum).item(), first + second, 1e-12);
  auto each = cross_entropy(logits, target, Reduction::kNone).to_vector<double>();
  EXPECT_NEAR(each[0], first, 1e-12);
  EXPECT_NEAR(each[1], second, 1e-12);
  EXPECT_EQ(mse_loss(tensor({1., 3.}, DType::kF64), tensor({0., 1.}, DType::kF64)).item(), 2.5);
  EXPECT_EQ(argmax(logits, 1).to_vector<int64_t>(), (std::vector<int64_t>{2, 0}));
}

}  // namespace
}  // namespace wick
