// vmap(): a loop over slices, whose results have the bits of the calls one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;
using Doubles = std::vector<double>;
using Floats = std::vector<float>;

Tensor numbers(const Shape& shape) {
  return arange(1, numel(shape) + 1).to(DType::kF64).reshape(shape) * 0.37;
}

TEST(Vmap, AFunctionOfOneIsCalledForEach) {
  Tensor a = numbers({3, 2, 4}), b = numbers({3, 4, 5});
  auto products = vmap([](const Tensor& x, const Tensor& y) { return matmul(x, y); });
  Tensor y = products(a, b);
  EXPECT_EQ(y.raw_shape(), (Shape{3, 2, 5}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(y.select(0, i).to_vector<double>(),
              matmul(a.select(0, i), b.select(0, i)).to_vector<double>());
  }
  // A function of a list, and one that reads values.
  auto listed = vmap([](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] + 1}; });
  EXPECT_EQ(listed({a})[0].to_vector<double>(), (a + 1).to_vector<double>());
  auto branching = vmap([](const Tensor& x) { return x.item() > 1 ? x * 10 : x; });
  EXPECT_EQ(branching(tensor({1.f, 2.f, 3.f})).to_vector<float>(), (Floats{1, 20, 30}));
}

TEST(Vmap, DimsOfInputsAndOutputs) {
  Tensor x = numbers({4, 3}), w = numbers({4});
  auto dot = [](const Tensor& a, const Tensor& b) { return sum(a * b); };
  Tensor y = vmap(dot, {1, std::nullopt})(x, w);
  EXPECT_EQ(y.raw_shape(), (Shape{3}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(y.select(0, i).item(), sum(x.select(1, i) * w).item());
  EXPECT_EQ(vmap(dot, {-1, std::nullopt})(x, w).to_vector<double>(), y.to_vector<double>());
  auto twice = [](const Tensor& a) { return a * 2; };
  EXPECT_EQ(vmap(twice, {}, {1})(x).to_vector<double>(), (x * 2).t().to_vector<double>());
  EXPECT_EQ(vmap(twice, {}, {-1})(x).raw_shape(), (Shape{3, 4}));
  EXPECT_EQ(vmap(twice, {1}, {1})(x).to_vector<double>(), (x * 2).to_vector<double>());
  // Several outputs, each with its dim; and a struct of tensors.
  auto both = vmap([](const Tensor& a) { return std::pair(a + 1, sum(a)); }, {0}, {1, 0});
  auto [p, q] = both(x);
  EXPECT_EQ(p.to_vector<double>(), (x + 1).t().to_vector<double>());
  EXPECT_EQ(q.raw_shape(), (Shape{4}));
  const ValuesIndices top = vmap([](const Tensor& a) { return topk(a, 2); })(x);
  EXPECT_EQ(top.values.raw_shape(), (Shape{4, 2}));
  EXPECT_EQ(top.indices.to_vector<int64_t>(), (std::vector<int64_t>{2, 1, 2, 1, 2, 1, 2, 1}));
}

TEST(Vmap, CallsNest) {
  Tensor a = numbers({3, 5}), b = numbers({4, 5});
  auto dot = [](const Tensor& x, const Tensor& y) { return sum(x * y); };
  auto rows = vmap(dot, {std::nullopt, 0});  // x, every y
  Tensor all = vmap(rows, {0, std::nullopt})(a, b);
  EXPECT_EQ(all.raw_shape(), (Shape{3, 4}));
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 4; ++k) {
      EXPECT_EQ(all.select(0, i).select(0, k).item(), sum(a.select(0, i) * b.select(0, k)).item());
    }
  }
}

TEST(Vmap, GradientsGoThroughAndWithin) {
  Tensor x = numbers({3, 2}).requires_grad_(), w = numbers({2}).requires_grad_();
  auto f = [](const Tensor& a, const Tensor& b) { return sum(a * a * b); };
  sum(vmap(f, {0, std::nullopt})(x, w)).backward();
  Tensor by_batch = numbers({3, 2}).requires_grad_(), of_w = numbers({2}).requires_grad_();
  sum(by_batch * by_batch * of_w).backward();
  EXPECT_TRUE(allclose(x.grad(), by_batch.grad(), 1e-14, 0));
  EXPECT_TRUE(allclose(w.grad(), of_w.grad(), 1e-14, 0));
  // The gradient of each element, by grad() within: 2 a b.
  auto gradient = [&](const Tensor& a) {
    Tensor own = a.detach().requires_grad_();
    return grad({f(own, w.detach())}, {own})[0];
  };
  Tensor each = vmap(gradient)(x.detach());
  EXPECT_TRUE(allclose(each, x.detach() * w.detach() * 2, 1e-14, 0));
  const GradcheckResult ok = gradcheck(
      [&](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{vmap(f, {1, std::nullopt}, {0})(in[0], in[1])};
      },
      {numbers({2, 3}), numbers({2})}, {.second_order = true});
  EXPECT_TRUE(ok.ok) << ok.message;
  // Forward mode: the derivative along a direction.
  const OutputsAnd along = jvp(
      [&](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{vmap(f, {0, std::nullopt})(in[0], in[1])};
      },
      {x.detach(), w.detach()}, {ones({3, 2}, DType::kF64), zeros({2}, DType::kF64)});
  EXPECT_TRUE(allclose(along.second[0], sum(x.detach() * w.detach() * 2, {1}), 1e-14, 0));
}

TEST(Vmap, RandomNumbersAreSaid) {
  manual_seed(5);
  Tensor x = ones({3, 4});
  auto noisy = [](const Tensor& a) { return a + randn({4}); };
  EXPECT_THAT(error_of([&] { vmap(noisy)(x); }),
              HasSubstr("[vmap] the function draws random numbers: say Randomness::kDifferent or "
                        "kSame (dropout draws in training mode) (vmap_test.cc:"));
  manual_seed(5);
  Tensor different = vmap(noisy, {}, {}, Randomness::kDifferent)(x);
  manual_seed(5);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(different.select(0, i).to_vector<float>(), noisy(x.select(0, i)).to_vector<float>());
  }
  manual_seed(5);
  Tensor same = vmap(noisy, {}, {}, Randomness::kSame)(x);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(same.select(0, i).to_vector<float>(), different.select(0, 0).to_vector<float>());
  }
  // The generator went on by what one element draws.
  const Floats next = randn({4}).to_vector<float>();
  manual_seed(5);
  randn({4});
  EXPECT_EQ(randn({4}).to_vector<float>(), next);
  auto uneven = [](const Tensor& a) { return a.item() > 1 ? a + randn({}) : a; };
  EXPECT_THAT(error_of([&] {
                vmap(uneven, {}, {}, Randomness::kSame)(tensor({1.f, 2.f}));
              }),
              HasSubstr("element 1 draws random tensors 1 times, element 0 0"));
  // An inner vmap draws for the outer one, too.
  auto inner = vmap([](const Tensor& a) { return a + randn({}); }, {}, {}, Randomness::kDifferent);
  EXPECT_THAT(error_of([&] { vmap(inner)(x); }), HasSubstr("draws random numbers"));
  EXPECT_EQ(vmap(inner, {}, {}, Randomness::kDifferent)(x).raw_shape(), (Shape{3, 4}));
}

TEST(Vmap, MistakesAreNamed) {
  auto add = [](const Tensor& a, const Tensor& b) { return a + b; };
  EXPECT_THAT(error_of([&] {
                vmap(add)(ones({3, 2}), ones({4, 2}));
              }),
              HasSubstr("[vmap] the batch has two sizes: 3 in input 0 (dim 0 of [3,2]) and 4 in "
                        "input 1 (dim 0 of [4,2]) (vmap_test.cc:"));
  EXPECT_THAT(error_of([&] { vmap(add, {0})(ones({3}), ones({3})); }),
              HasSubstr("in_dims has 1 entries for 2 inputs"));
  EXPECT_THAT(error_of([&] {
                vmap(add, {std::nullopt, std::nullopt})(ones({3}), ones({3}));
              }),
              HasSubstr("no input is mapped"));
  EXPECT_THAT(error_of([&] {
                vmap(add, {0, 2})(ones({3, 2}), ones({3, 2}));
              }),
              HasSubstr("dim 2 out of range for rank 2"));
  EXPECT_THAT(error_of([&] { vmap(add)(ones({3}), ones({})); }),
              HasSubstr("input 1 has no dims, so it cannot be mapped: give it std::nullopt"));
  EXPECT_THAT(error_of([&] { vmap(add)(ones({3}), Tensor()); }), HasSubstr("input 1 is undefined"));
  EXPECT_THAT(error_of([&] {
                vmap(add)(ones({0, 2}), ones({0, 2}));
              }),
              HasSubstr("the batch is empty (0 in input 0 (dim 0 of [0,2]))"));
  EXPECT_THAT(error_of([&] {
                vmap(add, {0, 0}, {0, 0})(ones({3}), ones({3}));
              }),
              HasSubstr("out_dims has 2 entries for 1 outputs"));
  EXPECT_THAT(error_of([&] {
                vmap(add, {0, 0}, {1})(ones({3}), ones({3}));
              }),
              HasSubstr("dim 1 out of range for rank 1"));
  auto ragged = [](const Tensor& a) { return ones({a.item_int()}); };
  EXPECT_THAT(error_of([&] {
                vmap(ragged)(tensor({2, 3}));
              }),
              HasSubstr("output 0 of element 1 is float32[3], that of element 0 float32[2]"));
  auto growing = [](const Tensor& a) {
    return std::vector<Tensor>(static_cast<size_t>(a.item_int()), a);
  };
  EXPECT_THAT(error_of([&] {
                vmap(growing)(tensor({1, 2}));
              }),
              HasSubstr("returned 2 tensors for element 1, 1 for element 0"));
  auto nothing = [](const Tensor&) { return Tensor(); };
  EXPECT_THAT(error_of([&] { vmap(nothing)(ones({2})); }),
              HasSubstr("output 0 of element 0 is undefined"));
  auto deep = [](const Tensor& a) { return a.reshape({1, 1, 1, 1, 1, 1, 1, 1}); };
  EXPECT_THAT(error_of([&] { vmap(deep)(ones({2})); }), HasSubstr("output 0 has 8 dims"));
  // What f throws passes as it is.
  EXPECT_THAT(error_of([&] { vmap(add)(ones({2, 3}), ones({2, 4})); }), HasSubstr("[add]"));
}

TEST(Vmap, AWriteIntoASliceIsAWriteIntoTheInput) {
  Tensor x = zeros({3, 2});
  vmap([](const Tensor& a) { return a.add_(1.0); })(x);
  EXPECT_EQ(x.to_vector<float>(), Floats(6, 1));
}

}  // namespace
}  // namespace wick
