// The edges of views, in-place writes and out=: what a write leaves of histories, retained
// gradients and shapes, against PyTorch's answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "trainer/autograd/forward.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;
using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

Tensor leaf(std::initializer_list<double> values) {
  return tensor<double>(values).requires_grad_();
}
Doubles values(const Tensor& t) { return t.contiguous().to_vector<double>(); }
Tensor bools(std::initializer_list<int64_t> values) { return tensor(values).to(DType::kBool); }
Ints ints(const Tensor& t) { return t.contiguous().to_vector<int64_t>(); }

TEST(ViewEdges, CopyOfALeafLeadsToTheLeaf) {
  Tensor x = leaf({1, 2, 3}), y = zeros({3}, DType::kF64);
  y.copy_(x);
  EXPECT_FALSE(y.is_leaf());
  (y * y).sum().backward();
  ASSERT_TRUE(x.grad().defined());
  EXPECT_EQ(values(x.grad()), (Doubles{2, 4, 6}));
  EXPECT_FALSE(y.grad().defined());
  // through a view
  Tensor z = zeros({2, 3}, DType::kF64), row = z.select(0, 1);
  row.copy_(x);
  EXPECT_FALSE(row.is_leaf());
  x.set_grad({});
  (z * z).sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{2, 4, 6}));
  // through an index
  Tensor w = zeros({2, 3}, DType::kF64);
  w[0] = x;
  x.set_grad({});
  (w * w).sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{2, 4, 6}));
}

TEST(ViewEdges, CopyOfAResultSharesNeitherGradientNorHooks) {
  Tensor x = leaf({1, 2}), h = x * 2, y = zeros({2}, DType::kF64);
  y.copy_(h);
  y.retain_grad();
  h.retain_grad();
  Doubles seen;
  y.register_hook([&](const Tensor& g) { seen = values(g); });
  (y * 3 + h * 5).sum().backward();
  ASSERT_TRUE(y.grad().defined());
  EXPECT_EQ(values(y.grad()), (Doubles{3, 3}));
  EXPECT_EQ(values(h.grad()), (Doubles{8, 8}));
  EXPECT_EQ(seen, (Doubles{3, 3}));
  EXPECT_EQ(values(x.grad()), (Doubles{16, 16}));
  // of itself
  Tensor z = x * 2;
  z.copy_(z);
  x.set_grad({});
  (z * z).sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{8, 16}));
}

TEST(ViewEdges, CopyCarriesTheTangent) {
  DualLevel level;
  Tensor x = make_dual(leaf({1, 2}), tensor({3.0, 4.0}, DType::kF64)), y = zeros({2}, DType::kF64);
  y.copy_(x);
  EXPECT_EQ(values(unpack_dual(y * 2).tangent), (Doubles{6, 8}));
}

// A retained gradient's node must not outlive its tensor.
TEST(ViewEdges, AShapeChangedInPlaceRetainsItsOwnGradient) {
  Tensor x = leaf({1, 2, 3}), loss;
  {
    Tensor y = (x * 2).reshape({1, 3}) * 1;
    y.retain_grad();
    y.t_();
    loss = y.sum();
  }
  std::vector<Tensor> fresh;
  for (int i = 0; i < 200; ++i) fresh.push_back(zeros({3, 1}, DType::kF64));
  loss.backward();
  for (const Tensor& t : fresh) EXPECT_FALSE(t.grad().defined());

  Tensor y = (x * 2).reshape({1, 3}) * 1, other = y.slice(1, 0, 1);
  y.retain_grad();
  y.t_();
  EXPECT_TRUE(y.retains_grad());
  (y * y).sum().backward();
  EXPECT_EQ(y.grad().raw_shape(), (Shape{3, 1}));
  EXPECT_EQ(values(y.grad()), (Doubles{4, 8, 12}));
}

TEST(ViewEdges, OtherBytesEndTheOldHistory) {
  Tensor x = leaf({1, 2, 3}), loss;
  {
    Tensor y = x * 2;
    y.retain_grad();
    loss = y.sum();
    NoGrad guard;
    y.set_(ones({2}, DType::kF64));
    EXPECT_FALSE(y.requires_grad());
    EXPECT_TRUE(y.is_leaf());
    EXPECT_FALSE(y.retains_grad());
  }
  std::vector<Tensor> fresh;
  for (int i = 0; i < 200; ++i) fresh.push_back(zeros({3}, DType::kF64));
  loss.backward();
  for (const Tensor& t : fresh) EXPECT_FALSE(t.grad().defined());
  // a parameter stays one
  Tensor p = leaf({1});
  NoGrad guard;
  p.set_(ones({2}, DType::kF64));
  EXPECT_TRUE(p.requires_grad());
}

// A tensor saved before would be read with the new shape: silently if the shape is square.
TEST(ViewEdges, AShapeChangedAfterASaveIsAnErrorOfBackward) {
  Tensor x = tensor<double>({{1, 2}, {3, 4}}).requires_grad_(), y = x * 1, z = y * y;
  y.t_();
  EXPECT_THAT(error_of([&] { z.sum().backward(); }), HasSubstr("t_"));
  // what is computed after it is right
  Tensor a = x * 1, w = tensor<double>({{1, 2}, {3, 4}});
  a.t_();
  (a * a * w).sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{2, 12, 12, 32}));
}

// Steps may be negative wherever a gradient arrives.
TEST(ViewEdges, AGradientOfNegativeSteps) {
  Tensor x = arange(0, 4, 1, DType::kF64).reshape({2, 2}).requires_grad_();
  Tensor y = x * 1, seed = tensor<double>({{1, 2}, {3, 4}}).slice(0, 1, -100, -1).T();
  Tensor part = y.slice(0, 0, 1), last = seed.slice(1, 1, -100, -1).slice(0, 1, -100, -2);
  auto g = grad({part}, {x}, {last});
  EXPECT_EQ(values(last), (Doubles{2, 4}));
  EXPECT_EQ(values(g[0]), (Doubles{2, 4, 0, 0}));

  Tensor rows = tensor<double>({{1, 2, 3}, {4, 5, 6}}).slice(1, 2, -100, -1).slice(0, 1, -100, -1);
  for (const char* mode : {"constant", "reflect", "replicate", "circular"}) {
    Tensor v = rows.unsqueeze(0);
    EXPECT_EQ(values(pad(v, {1, 2}, mode)), values(pad(v.clone(), {1, 2}, mode))) << mode;
  }
}

TEST(ViewEdges, EveryFamilyReadsNegativeSteps) {
  Generator g{3, 0};
  Tensor base = uniform({4, 3, 6, 6}, 0.1, 0.9, DType::kF64, g), other = base * 0.5 + 0.25;
  Tensor v = base;
  for (int d = 0; d < 4; ++d) v = v.slice(d, v.raw_shape()[d] - 1, -100, -1);
  v = v.transpose(2, 3);
  Tensor c = v.clone(), w = uniform({5, 3, 2, 2}, -1, 1, DType::kF64, g);
  Tensor at = tensor<int64_t>({2, 0, 1}).slice(0, 2, -100, -1);
  Tensor back = w.slice(0, 4, -100, -1).slice(3, 1, -100, -1);
  std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> all = {
      {"exp", [&](const Tensor& t) { return exp(t); }},
      {"add", [&](const Tensor& t) { return t + other; }},
      {"mul by itself", [&](const Tensor& t) { return t * t.transpose(2, 3); }},
      {"where", [&](const Tensor& t) { return where(gt(t, 0.5), t, other); }},
      {"cast", [&](const Tensor& t) { return t.to(DType::kF32).to(DType::kF64); }},
      {"sum",
       [&](const Tensor& t) {
         return sum(t, {1, 3});
       }},
      {"amax", [&](const Tensor& t) { return amax(t, {0}); }},
      {"argmax", [&](const Tensor& t) { return argmax(t, 1).to(DType::kF64); }},
      {"cumsum", [&](const Tensor& t) { return cumsum(t, 2); }},
      {"softmax", [&](const Tensor& t) { return softmax(t, 1); }},
      {"layer_norm", [&](const Tensor& t) { return layer_norm(t, {6}, {}, {}); }},
      {"matmul", [&](const Tensor& t) { return matmul(t, t.transpose(2, 3)); }},
      {"conv2d", [&](const Tensor& t) { return conv2d(t, back, {}); }},
      {"max_pool2d", [&](const Tensor& t) { return max_pool2d(t, 2); }},
      {"avg_pool2d", [&](const Tensor& t) { return avg_pool2d(t, 2); }},
      {"cat",
       [&](const Tensor& t) {
         return cat({t, other, t}, 1);
       }},
      {"index_select", [&](const Tensor& t) { return index_select(t, 1, at); }},
      {"gather", [&](const Tensor& t) { return gather(t, 1, argsort(t, 1)); }},
      {"index_put", [&](const Tensor& t) { return index_put(t, {at}, t.select(0, 3)); }},
      {"scatter_add", [&](const Tensor& t) { return scatter_add(t, 1, argsort(t, 1), t); }},
      {"sort", [&](const Tensor& t) { return sort(t, 2).values; }},
      {"topk", [&](const Tensor& t) { return topk(t, 2, 3).values; }},
      {"reshape",
       [&](const Tensor& t) {
         return t.reshape({-1, 9});
       }},
      {"slice_scatter",
       [&](const Tensor& t) { return slice_scatter(t, t.slice(0, 1, 3), 0, 0, 2); }},
      {"diagonal", [&](const Tensor& t) { return diagonal(t.clone(), 0, 2, 3); }},
      {"flip",
       [&](const Tensor& t) {
         return flip(t, {0, 2});
       }},
      {"tril", [&](const Tensor& t) { return tril(t); }},
      {"interpolate",
       [&](const Tensor& t) {
         return t.mean({2, 3}, true).expand({4, 3, 2, 2});
       }},
  };
  for (const auto& [name, f] : all) {
    SCOPED_TRACE(name);
    Tensor a = c.detach().requires_grad_(), b = v.detach().requires_grad_();
    Tensor fa = f(a), fb = f(b);
    EXPECT_EQ(values(fa.detach()), values(fb.detach()));
    if (!fa.requires_grad()) continue;
    Tensor seed = uniform(fa.raw_shape(), -1, 1, DType::kF64, g), turned = seed;
    for (int d = 0; d < seed.rank(); ++d)
      turned = turned.slice(d, seed.raw_shape()[d] - 1, -1000, -1);
    EXPECT_EQ(values(grad({fa}, {a}, {turned.clone()})[0]), values(grad({fb}, {b}, {turned})[0]));
  }
}

TEST(ViewEdges, OutOfIntegersIsWhatTheFunctionMakes) {
  Tensor a = tensor<int64_t>({7, 8}), b = tensor<int64_t>({2, 3}), out = zeros({2}, DType::kI64);
  EXPECT_THAT(error_of([&] { div_out(out, a, b); }), HasSubstr("can't be cast"));
  EXPECT_THAT(error_of([&] { mean_out(zeros({}, DType::kI64), a); }), HasSubstr("mean"));
  EXPECT_THAT(error_of([&] { exp_out(out, a); }), HasSubstr("can't be cast"));
  EXPECT_EQ(ints(out), (Ints{0, 0}));
  EXPECT_EQ(ints(add_out(out, a, b)), (Ints{9, 11}));
  EXPECT_EQ(ints(neg_out(out, a)), (Ints{-7, -8}));
  Tensor quotient = zeros({2});
  EXPECT_EQ(div_out(quotient, a, b).to_vector<float>(), (std::vector<float>{3.5f, 8.0f / 3}));
  Tensor narrow = zeros({}, DType::kI32);
  EXPECT_EQ(sum_out(narrow, tensor<int32_t>({INT32_MAX, 2})).item_int(), int64_t{INT32_MIN} + 1);
}

TEST(ViewEdges, OutRefusesDuals) {
  DualLevel level;
  Tensor x = tensor({1.0, 2.0}, DType::kF64), v = tensor({3.0, 4.0}, DType::kF64);
  Tensor dual = make_dual(x, v), out = zeros({2}, DType::kF64), held = make_dual(x.clone(), v);
  EXPECT_THAT(error_of([&] { mul_out(out, dual, x); }), HasSubstr("a dual"));
  EXPECT_THAT(error_of([&] { exp_out(held, x); }), HasSubstr("a dual"));
  EXPECT_THAT(error_of([&] { sum_out(zeros({}, DType::kF64), dual); }), HasSubstr("a dual"));
  EXPECT_EQ(values(unpack_dual(held).primal), (Doubles{1, 2}));
  EXPECT_EQ(values(mul_out(out, x, x)), (Doubles{1, 4}));
}

TEST(ViewEdges, AlphaOfIntegersIsWhole) {
  Tensor a = tensor<int64_t>({1, 2}), b = tensor<int64_t>({10, 20});
  EXPECT_THAT(error_of([&] { a.add_(b, 0.5); }), HasSubstr("[add_] a whole number"));
  EXPECT_THAT(error_of([&] { a.sub_(b, 0.5); }), HasSubstr("[sub_] a whole number"));
  Tensor zero = tensor<int64_t>({0}), ten = tensor<int64_t>({10});
  EXPECT_THAT(error_of([&] { index_add(a, 0, zero, ten, 0.5); }),
              HasSubstr("[index_add] a whole number"));
  EXPECT_THAT(error_of([&] { a.index_add_(0, zero, ten, 0.5); }), HasSubstr("a whole number"));
  EXPECT_EQ(ints(a), (Ints{1, 2}));
  EXPECT_EQ(ints(a.add_(b, 2)), (Ints{21, 42}));
  EXPECT_EQ(ints(a.index_add_(0, zero, ten, 3)), (Ints{51, 42}));
  EXPECT_EQ(ints(a.add_(bools({1, 0}), 3)), (Ints{54, 42}));
  // the three promote: what is added is no integer
  EXPECT_EQ(values(tensor({1.0, 2.0}, DType::kF64).add_(tensor<int64_t>({1, 2}), 0.5)),
            (Doubles{1.5, 3}));
  EXPECT_EQ(values(tensor({1.0, 2.0}, DType::kF64).sub_(tensor<int64_t>({1, 2}), 0.5)),
            (Doubles{0.5, 1}));
  Tensor flag = bools({1, 0});
  flag.add_(bools({1, 1}), 2);
  EXPECT_EQ(flag.to_vector<bool>(), (std::vector<bool>{true, true}));
  EXPECT_THAT(error_of([&] { a.add_(tensor({1.0f, 2.0f}), 0.5); }), HasSubstr("can't be cast"));
}

TEST(ViewEdges, NumbersByMaskBroadcastOverTheOtherDims) {
  Tensor x = zeros({2, 3, 2}, DType::kF64), rows = bools({0, 1, 0});
  x.at({indexing::Slice(), rows}) = 3;
  EXPECT_EQ(values(x), (Doubles{0, 0, 3, 3, 0, 0, 0, 0, 3, 3, 0, 0}));
  x.index_put_({gt(x, 1)}, 2, true);
  x.at({indexing::Slice(), indexing::Slice(0, 1)}) = 7;
  EXPECT_EQ(values(x), (Doubles{7, 7, 5, 5, 0, 0, 7, 7, 5, 5, 0, 0}));
  x.at({1}) += tensor({1.0, 2.0}, DType::kF64);
  EXPECT_EQ(values(x.select(0, 1)), (Doubles{8, 9, 6, 7, 1, 2}));
  Tensor b = leaf({2}), y = x * 1;
  y.at({0}) = b;
  y.sum().backward();
  EXPECT_EQ(values(b.grad()), (Doubles{6}));
}

TEST(ViewEdges, ExpandNeverDropsDims) {
  Tensor x = zeros({2, 3});
  EXPECT_THAT(error_of([&] { x.expand({3}); }), HasSubstr("more dimensions"));
  EXPECT_THAT(error_of([&] { broadcast_to(x, {3}); }), HasSubstr("more dimensions"));
  EXPECT_EQ(x.expand({4, 2, 3}).raw_shape(), (Shape{4, 2, 3}));
  EXPECT_THAT(error_of([&] { zeros({}).expand({}).expand({2}).expand({}); }),
              HasSubstr("more dimensions"));
}

TEST(ViewEdges, StridedViewsOfPartsWithoutAnOwner) {
  Tensor x = arange(9).reshape({3, 3}).clone();
  EXPECT_EQ(ints(diagonal(x.slice(1, 0, 2).detach())), (Ints{0, 4}));
  EXPECT_EQ(ints(x.slice(1, 1, 3).detach().unfold(0, 2, 1)), (Ints{1, 4, 2, 5, 4, 7, 5, 8}));
  EXPECT_EQ(ints(as_strided(x.slice(1, 1, 3).detach(), {2}, {4})), (Ints{1, 5}));
  diagonal(x.slice(1, 1, 3).detach()).fill_(-1);
  EXPECT_EQ(ints(x), (Ints{0, -1, 2, 3, 4, -1, 6, 7, 8}));
  // a recorded write would not reach the tensor
  Tensor w = leaf({2}), part = zeros({3, 3}, DType::kF64).slice(1, 0, 2).detach();
  EXPECT_THAT(error_of([&] { diagonal(part).mul_(w); }), HasSubstr("NoGrad"));
  // in a hook, where views keep no bases
  Tensor y = zeros({3, 3}, DType::kF64).requires_grad_();
  Doubles seen;
  Tensor h = y * 1;
  h.register_hook([&](const Tensor& g) { seen = values(diagonal(g.slice(1, 0, 2))); });
  (h * arange(0, 9, 1, DType::kF64).reshape({3, 3})).sum().backward();
  EXPECT_EQ(seen, (Doubles{0, 4}));
}

TEST(ViewEdges, RenderShowsTheWriteToTheBase) {
  Tensor x = leaf({1, 2, 3}), y = x * 1, v = y.slice(0, 0, 1);
  y.mul_(2);
  Tensor u = y.slice(0, 0, 1);
  for (const std::string& text : {render(v), to_dot(v)}) {
    EXPECT_THAT(text, testing::Not(HasSubstr("tensor.h")));
    size_t muls = 0;
    for (size_t at = text.find("mul"); at != std::string::npos; at = text.find("mul", at + 1))
      ++muls;
    EXPECT_EQ(muls, 2u) << text;
  }
}

TEST(ViewEdges, AStaleViewNamesTheLineItWasTakenAt) {
  Tensor x = leaf({1, 2, 3}), y = x * 1, v;
  const int line = __LINE__ + 1;
  v = y.slice(0, 0, 2);
  y.mul_(2);
  ASSERT_TRUE(v.requires_grad());
  EXPECT_EQ(static_cast<int>(v.grad_fn().where().line()), line);
  EXPECT_THAT(std::string(v.grad_fn().where().file_name()), HasSubstr("view_edges_test.cc"));
  Tensor plain = zeros({3}, DType::kF64), stale;
  {
    NoGrad guard;
    stale = plain.slice(0, 0, 1);
  }
  plain.add_(x);
  EXPECT_THAT(error_of([&] { stale.requires_grad(); }),
              HasSubstr("(view_edges_test.cc:" + std::to_string(__LINE__ - 4) + ")"));
}

TEST(ViewEdges, AConstantOverTheWholeViewStillRequiresGrad) {
  Tensor x = leaf({1, 2}), y = (x * 1).reshape({1, 2});
  y.copy_(full({}, 3.0, DType::kF64));
  EXPECT_TRUE(y.requires_grad());
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{0, 0}));
  Tensor base = x * 1;
  base.reshape({2, 1}).T().fill_(2);
  EXPECT_TRUE(base.requires_grad());
  x.set_grad({});
  (base * base).sum().backward();
  EXPECT_EQ(values(x.grad()), (Doubles{0, 0}));
}

// The winner of equal indices is the last; its gradient goes to every one of them, as PyTorch's
// does.
TEST(ViewEdges, DuplicateIndicesShareTheWinnersGradient) {
  Tensor v = leaf({1, 2, 3}), x = zeros({4}, DType::kF64);
  Tensor y = index_put(x, {tensor<int64_t>({0, 3, 0})}, v);
  EXPECT_EQ(values(y.detach()), (Doubles{3, 0, 0, 2}));
  (y * tensor({5.0, 6.0, 7.0, 8.0}, DType::kF64)).sum().backward();
  EXPECT_EQ(values(v.grad()), (Doubles{5, 8, 5}));
}

TEST(ViewEdges, AViewIsNotDetachedInPlace) {
  Tensor x = leaf({1, 2, 3}), y = x * 1, v = y.slice(0, 0, 1);
  EXPECT_THAT(error_of([&] { v.detach_(); }), HasSubstr("use detach()"));
  EXPECT_TRUE(v.requires_grad());
  y.detach_();
  EXPECT_FALSE(y.requires_grad());
}

TEST(ViewEdges, OneElementAlongADimOfItsOwn) {
  Tensor x = tensor({5.0}, DType::kF64).reshape(Shape{}).requires_grad_(),
         one = tensor<int64_t>({0});
  Tensor y = index_select(x, 0, one);
  EXPECT_EQ(y.rank(), 0);
  y.backward();
  EXPECT_EQ(x.grad().item(), 1);
  EXPECT_EQ(index_select(x.detach(), -1, one.reshape(Shape{})).item(), 5);
  EXPECT_NE(error_of([&] { index_select(x, 1, one); }), "no error");
  EXPECT_THAT(error_of([&] {
                index_select(x, 0, tensor<int64_t>({0, 0}));
              }),
              HasSubstr("one index"));
  EXPECT_NE(error_of([&] { index_select(x, 0, one + 1); }), "no error");
  for (bool keepdim : {false, true}) {
    EXPECT_EQ(argmax(x, 0, keepdim).rank(), 0);
    EXPECT_EQ(argmin(x, -1, keepdim).item_int(), 0);
  }
  EXPECT_NE(error_of([&] { argmax(x, 1); }), "no error");
}

// One dimension more than a shape holds: the write went past the end of the values.
TEST(ViewEdges, AnIndexOfTooManyDimsIsRefused) {
  Tensor x = ones({2, 1, 2, 1, 3}), at = ones({2, 1, 2, 1, 3}, DType::kI64);
  for (const auto& f : std::vector<std::function<void()>>{
           [&] { x.at({at}) = 7; }, [&] { x.index_put_({at}, 7, true); }, [&] { x.index({at}); },
           [&] { index_put(x, {at}, tensor(7.f)); }}) {
    std::string error = error_of(f);
    EXPECT_NE(error.find("9 dimensions; at most 8"), std::string::npos) << error;
  }
}

// Nine sizes: never a tensor of the first eight.
TEST(ViewEdges, MoreDimsThanThereAreAreRefused) {
  const Shape nine{1, 1, 1, 1, 1, 1, 1, 2, 1};
  Tensor x = ones({2});
  for (const auto& f : std::vector<std::function<void()>>{
           [&] { zeros(nine); }, [&] { rand(nine); }, [&] { full(nine, 3); },
           [&] { x.reshape(nine); }, [&] { x.view(nine); }, [&] { x.expand(nine); },
           [&] { repeat(x, nine); }, [&] { tile(x, nine); }, [&] { as_strided(x, nine, nine); },
           [&] { unflatten(x, 0, nine); }}) {
    std::string error = error_of(f);
    EXPECT_NE(error.find("more than 8 dimensions"), std::string::npos) << error;
    EXPECT_NE(error.find("view_edges_test.cc"), std::string::npos) << error;
  }
}
// Sizes whose product is 2^64, and so 0 in 64 bits: pixel_shuffle() divided by it.
TEST(ViewEdges, SizesWhoseProductIsTooLargeAreRefused) {
  const int64_t large = int64_t{1} << 32;
  EXPECT_THAT(error_of([&] {
                pixel_shuffle(ones({1, 4, 2, 2}), large);
              }),
              HasSubstr("[pixel_shuffle] needs [..., C * 9223372036854775807, H, W]"));
  EXPECT_THAT(error_of([&] {
                pixel_unshuffle(zeros({1, 4, 0, 0}), large);
              }),
              HasSubstr("too large"));
  EXPECT_THAT(error_of([&] {
                unflatten(zeros({0}), 0, {large, large});
              }),
              HasSubstr("does not multiply to dimension 0"));
  EXPECT_THAT(error_of([&] { repeat(ones({3}), {int64_t{1} << 62}); }), HasSubstr("too large"));
  // Eight dims leave no room for one more; a list of as many parts was made first.
  EXPECT_THAT(error_of([&] {
                repeat(ones({1, 1, 1, 1, 1, 1, 2, 3}), {1, 1, 1, 1, 1, 1, int64_t{1} << 62, 1});
              }),
              HasSubstr("too large"));
  EXPECT_EQ(
      repeat(zeros({1, 1, 1, 1, 1, 1, 0, 3}), {1, 1, 1, 1, 1, int64_t{1} << 40, 1, 1}).numel(), 0);
  const Tensor x = arange(6).reshape({1, 1, 1, 1, 1, 2, 1, 3});
  EXPECT_EQ(repeat(x, {1, 1, 1, 2, 1, 2, 1, 1}).to_vector<int64_t>(),
            cat({x, x, x, x}, 5).to_vector<int64_t>());
  EXPECT_EQ(repeat(x, {1, 1, 1, 1, 1, 1, 1, 0}).raw_shape(), (Shape{1, 1, 1, 1, 1, 2, 1, 0}));
}

TEST(ViewEdges, AScalarHasAnAxisOfOne) {
  for (int axis : {0, -1}) EXPECT_EQ(softmax(tensor(3.f), axis).item(), 1);
  for (int axis : {1, -2, -5})
    EXPECT_NE(error_of([&] { log_softmax(tensor(3.f), axis); }).find("axis"), std::string::npos);
}

}  // namespace
}  // namespace wick
