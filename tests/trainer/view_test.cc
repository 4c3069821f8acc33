// The view family: which results share bytes, which are copies, and a view's properties.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using Ints = std::vector<int64_t>;

Ints list(const Tensor& t) { return t.contiguous().to_vector<int64_t>(); }
Ints steps(const Tensor& t) {
  Ints s;
  for (int i = 0; i < t.rank(); ++i) s.push_back(t.stride(i));
  return s;
}

// Copies made by f.
template <class F>
int64_t copies(const F& f) {
  int64_t before = copies_made();
  f();
  return copies_made() - before;
}

TEST(View, ShapeStrideAndOffsetOfViewsOfViews) {
  Tensor x = arange(0, 6, 1, DType::kF32).reshape({2, 3});
  EXPECT_EQ(steps(x), (Ints{3, 1}));
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(steps(x.t()), (Ints{1, 3}));
  EXPECT_FALSE(x.t().is_contiguous());
  Tensor v = x.t().slice(0, 1, 3).select(1, 1);  // 4, 5
  EXPECT_EQ(v.storage_offset(), 4);
  EXPECT_EQ(steps(v), (Ints{1}));
  EXPECT_EQ(v.data_ptr(), static_cast<const float*>(x.data_ptr()) + 4);
  EXPECT_EQ(v.nbytes(), 8u);
  EXPECT_EQ(v.itemsize(), 4u);
  EXPECT_EQ(v.element_size(), 4u);
  EXPECT_EQ(v.ndim(), 1);
  EXPECT_EQ(v.nelement(), 2);
  EXPECT_TRUE(v.is_view());
  Tensor root = ones({2, 3});
  EXPECT_FALSE(root.is_view());
  EXPECT_FALSE(root.base().defined());
  EXPECT_TRUE(root.t().select(0, 1).base().is_same(root));
  EXPECT_FALSE(root.detach().is_view());
}

// S06: a view of a view of a view, under every name of every property.
TEST(View, PropertiesByEveryName) {
  const Tensor root = arange(0, 24, 1, DType::kF32);
  const Tensor x = root.view({2, 3, 4});
  const Tensor v = x.transpose(0, 2).slice(0, 1, 4).select(1, 2).t();  // x[:, 2, 1:4]
  EXPECT_EQ(v.raw_shape(), (Shape{2, 3}));
  EXPECT_EQ(v.size(0), 2);
  EXPECT_EQ(v.size(-1), 3);
  EXPECT_EQ(v.dim(), 2);
  EXPECT_EQ(v.ndim(), 2);
  EXPECT_EQ(v.numel(), 6);
  EXPECT_EQ(v.nelement(), 6);
  EXPECT_EQ(steps(v), (Ints{12, 1}));
  EXPECT_EQ(v.stride(0), 12);
  EXPECT_EQ(v.storage_offset(), 9);
  EXPECT_EQ(v.itemsize(), 4u);
  EXPECT_EQ(v.element_size(), 4u);
  EXPECT_EQ(v.nbytes(), 24u);
  EXPECT_TRUE(v.base().is_same(root));
  EXPECT_EQ(v.data_ptr(), static_cast<const float*>(root.data_ptr()) + 9);
  EXPECT_EQ(v.flatten().to_vector<float>(), (std::vector<float>{9, 10, 11, 21, 22, 23}));
  const Tensor own = v.clone();
  const void* bytes = own.data_ptr();
  own.set_shape({3, 2});
  EXPECT_EQ(own.raw_shape(), (Shape{3, 2}));
  EXPECT_EQ(own.data_ptr(), bytes);
  EXPECT_NE(error_of([&] { own.set_shape({4, 2}); }), "");
  EXPECT_EQ(own.raw_shape(), (Shape{3, 2}));
}

TEST(View, WhoSharesAndWhoCopies) {
  Tensor x = arange(12).clone().view({3, 4});
  EXPECT_EQ(x.contiguous().data_ptr(), x.data_ptr());
  EXPECT_NE(x.t().contiguous().data_ptr(), x.data_ptr());
  EXPECT_NE(x.clone().data_ptr(), x.data_ptr());
  EXPECT_EQ(x.detach().data_ptr(), x.data_ptr());
  Tensor other = zeros({1}, DType::kI64);
  other.set_(x.t());
  EXPECT_EQ(other.data_ptr(), x.data_ptr());
  EXPECT_EQ(other.raw_shape(), (Shape{4, 3}));
  EXPECT_EQ(copies([&] { x.view({12}); }), 0);
  EXPECT_EQ(copies([&] { x.reshape({12}); }), 0);
  EXPECT_EQ(copies([&] { x.permute({1, 0}); }), 0);
  EXPECT_EQ(copies([&] { x.t().reshape({12}); }), 1);
  EXPECT_EQ(copies([&] { x.t().contiguous(); }), 1);
  EXPECT_EQ(copies([&] { x.contiguous(); }), 0);
  EXPECT_EQ(copies([&] { ravel(x.t()); }), 1);
  x.narrow(0, 1, 1).fill_(7);  // seen through every alias
  EXPECT_EQ(list(other.select(1, 1)), (Ints{7, 7, 7, 7}));
  std::string text = error_of([&] { x.t().view({12}); });
  EXPECT_EQ(text.substr(0, text.find(" (view_test")),
            "[view] size [12] is not compatible with stride [1,4]; use reshape() (copies) or "
            "contiguous().view()");
  EXPECT_NE(x.t().reshape({12}).data_ptr(), x.data_ptr());
}

// Views that change nothing: another tensor on the same bytes, as PyTorch has it. What is set on
// one is not seen through the other.
struct NoOp {
  const char* name;
  Shape shape;
  std::function<Tensor(const Tensor&)> f;
};
std::vector<NoOp> views_that_change_nothing() {
  std::vector<NoOp> all;
  auto each = [&](std::initializer_list<Shape> shapes, const char* name,
                  std::function<Tensor(const Tensor&)> f) {
    for (const Shape& s : shapes) all.push_back({name, s, f});
  };
  const Shape number{}, vector{4}, matrix{3, 4}, cube{2, 3, 2}, none{3, 0};
#define V(...) [](const Tensor& x) -> Tensor { return __VA_ARGS__; }
  each({number, vector}, "T", V(x.T()));
  each({number, vector}, "t", V(x.t()));
  each({number, vector}, "t()", V(t(x)));
  each({vector, matrix, none}, "transpose", V(x.transpose(0, 0)));
  each({vector, cube}, "swapaxes", V(swapaxes(x, -1, -1)));
  each({matrix}, "permute", V(x.permute({0, 1})));
  each({number}, "permute", V(x.permute(Shape{})));
  each({vector, matrix, none}, "movedim", V(movedim(x, 0, 0)));
  each({vector, matrix, cube, none}, "squeeze(dim)", V(x.squeeze(0)));
  each({matrix}, "squeeze(dims)", V(squeeze(x, Shape{0, 1})));
  each({number, vector, matrix, none}, "squeeze", V(x.squeeze()));
  each({number, vector, matrix, none}, "reshape", V(x.reshape(x.raw_shape())));
  each({number, vector, matrix, none}, "view", V(x.view(x.raw_shape())));
  each({number, vector, matrix, none}, "view(dtype)", V(x.view(x.dtype())));
  each({number, vector, matrix, none}, "view_as", V(view_as(x, x)));
  each({number, vector, matrix, none}, "reshape_as", V(reshape_as(x, x)));
  each({number, vector, matrix, none}, "expand", V(x.expand(x.raw_shape())));
  each({number, vector, matrix}, "expand_as", V(expand_as(x, x)));
  each({vector, matrix}, "broadcast_to", V(broadcast_to(x, x.raw_shape())));
  each({vector}, "ravel", V(ravel(x)));
  each({vector}, "unflatten", V(unflatten(x, 0, {4})));
  each({vector, matrix, none}, "slice", V(x.slice(0, 0, x.size(0))));
  each({vector, matrix, none}, "narrow", V(x.narrow(0, 0, x.size(0))));
  each({vector, matrix}, "chunk", V(chunk(x, 1)[0]));
  each({vector, matrix}, "split", V(split(x, x.size(0))[0]));
  each({vector, matrix}, "tensor_split", V(tensor_split(x, 1)[0]));
  each({number, vector, matrix}, "index", V(x.index({})));
  each({number, vector, matrix}, "index ...", V(x.index({"..."})));
  each({vector, matrix, none}, "index :", V(x.index({indexing::Slice()})));
  each({vector, matrix}, "meshgrid", V(meshgrid({x.reshape({-1})})[0]));
  each({vector, matrix}, "as_strided", V(as_strided(x, x.raw_shape(), [&] {
         Shape s;
         for (int i = 0; i < x.rank(); ++i) s.push_back(x.stride(i));
         return s;
       }())));
#undef V
  return all;
}

TEST(View, OneThatChangesNothingIsATensorOfItsOwn) {
  for (const NoOp& c : views_that_change_nothing()) {
    SCOPED_TRACE(std::string(c.name) + " of " + to_text(c.shape).text);
    const int64_t n = numel(c.shape);
    Tensor x = arange(0, n, 1, DType::kF64).reshape(c.shape).clone();
    Tensor v = c.f(x);
    EXPECT_FALSE(v.is_same(x));
    EXPECT_EQ(&v.storage(), &x.storage());
    EXPECT_TRUE(v.is_view());
    EXPECT_EQ(numel(v.raw_shape()), n);
    {
      NoGrad guard;
      c.f(x).named("v");
      EXPECT_EQ(x.name(), "");
      c.f(x).detach().requires_grad_();
      EXPECT_FALSE(x.requires_grad());
      c.f(x).unsqueeze_(0);
      EXPECT_EQ(x.raw_shape(), c.shape);
      v.fill_(2);  // seen through x
      EXPECT_EQ(x.to_vector<double>(), std::vector<double>(static_cast<size_t>(n), 2.0));
    }
    // A node of its own, through which the gradient flows; hooks on it see it.
    x = ones(c.shape, DType::kF64).requires_grad_();
    v = c.f(x);
    EXPECT_FALSE(v.is_leaf());
    EXPECT_TRUE(x.is_leaf());
    int calls = 0;
    v.register_hook([&](const Tensor& g) {
      ++calls;
      return g * 2;
    });
    sum(v * 3).backward();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(x.grad().to_vector<double>(), std::vector<double>(static_cast<size_t>(n), 6.0));
    // A recorded write through it reaches the base's history.
    Tensor leaf = ones(c.shape, DType::kF64).requires_grad_(), base = leaf * 1;
    c.f(base).mul_(5);
    sum(base).backward();
    EXPECT_EQ(leaf.grad().to_vector<double>(), std::vector<double>(static_cast<size_t>(n), 5.0));
  }
}

TEST(View, WhatPyTorchGivesBackIsTheTensorItself) {
  Tensor x = ones({4}, DType::kF64);
  EXPECT_TRUE(x.contiguous().is_same(x));
  EXPECT_TRUE(x.to(DType::kF64).is_same(x));
  EXPECT_TRUE(x.cpu().is_same(x));
  EXPECT_TRUE(x.flatten().is_same(x));
  EXPECT_TRUE(positive(x).is_same(x));
  EXPECT_TRUE(atleast_1d(x).is_same(x));
  EXPECT_TRUE(dropout(x, 0.5, false).is_same(x));
}

// New tensors have bytes of their own also where nothing is to be computed.
TEST(View, ResultsThatChangeNothingShareNoBytes) {
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> all = {
#define F(...)                                                          \
  {                                                                     \
    #__VA_ARGS__, [](const Tensor& x) -> Tensor { return __VA_ARGS__; } \
  }
      F(x.clone()),
      F(add(x, 0)),
      F(mul(x, 1)),
      F(flip(x, {})),
      F(roll(x, {0}, {0})),
      F(roll(x, {0})),
      F(rot90(x.reshape({2, 2}), 0)),
      F(repeat(x, {1})),
      F(tile(x, {1})),
      F(repeat_interleave(x, 1, 0)),
      F(cat({x})),
      F(stack({x})),
      F(hstack({x})),
      F(vstack({x})),
      F(sort(x).values),
      F(cumsum(x, 0)),
      F(cummax(x, 0).values),
      F(diff(x, 0)),
      F(sum(x.reshape({1, 4}), {0})),
      F(mean(x.reshape({1, 4}), {0})),
      F(prod(x.reshape({1, 4}), {0})),
      F(amax(x.reshape({1, 4}), {0})),
      F(median(x.reshape({1, 4}), 0).values),
      F(max(x.reshape({1, 4}), 0).values),
      F(mode(x.reshape({1, 4}), 0).values),
      F(kthvalue(x.reshape({1, 4}), 1, 0).values),
      F(quantile(x.reshape({1, 4}), 0.5, 0)),
      F(topk(x, 4).values),
      F(clamp(x, -9, 9)),
      F(round(x)),
      F(floor(x)),
      F(trunc(x)),
      F(relu(x)),
      F(abs(x)),
      F(nan_to_num(x)),
      F(pow(x, 1)),
      F(masked_fill(x, full({4}, false, DType::kBool), 0)),
      F(where(ge(x, 0), x, x)),
      F(tril(x.reshape({2, 2}), 2)),
      F(pad(x, {0, 0})),
      F(index_select(x, 0, arange(4))),
      F(gather(x, 0, arange(4))),
      F(take(x, arange(4))),
      F(index_add(x, 0, zeros({0}, DType::kI64), zeros({0}, DType::kF64))),
      F(scatter_add(x, 0, zeros({0}, DType::kI64), zeros({0}, DType::kF64))),
      F(softplus(x, 1, 0.5)),
      F(threshold(x, -9, 0)),
      F(linalg::matrix_power(x.reshape({2, 2}), 1)),
      F(linalg::multi_dot({x.reshape({2, 2}), eye(2, DType::kF64)})),
      F(block_diag({x.reshape({2, 2})})),
      F(lerp(x, x, 0.5)),
      F(maximum(x, x)),
      F(logsumexp(x.reshape({1, 4}), {0})),
#undef F
  };
  Tensor x = arange(1, 5, 1, DType::kF64).clone();
  for (const auto& [name, f] : all) {
    SCOPED_TRACE(name);
    Tensor y = f(x);
    EXPECT_FALSE(y.is_same(x));
    EXPECT_FALSE(&y.storage() == &x.storage());
  }
}

TEST(View, BitsUnderAnotherDtype) {
  Tensor x = tensor({1.0f, -2.0f});
  EXPECT_EQ(x.view(DType::kI32).to_vector<int32_t>()[0], 0x3f800000);
  EXPECT_EQ(x.view(DType::kI64).item_int(), static_cast<int64_t>(0xc0000000'3f800000));
}

// F.unfold(x, 3, 1, 1) of PyTorch would otherwise be x.unfold(3, 1, 1).
template <class... Args>
constexpr bool kUnfolds = requires(const Tensor& x, Args... args) { unfold(x, args...); };
TEST(View, UnfoldByFourNumbersDoesNotCompile) {
  static_assert(!kUnfolds<int, int, int> && !kUnfolds<int, int64_t, int64_t>);
  static_assert(kUnfolds<int> && kUnfolds<int, int> && kUnfolds<Pair, int, int>);
  EXPECT_EQ(unfold(ones({1, 2, 4, 4}), Pair(3), 1, 1).raw_shape(), (Shape{1, 18, 16}));
}

TEST(View, Family) {
  Tensor x = arange(24).reshape({2, 3, 4});
  EXPECT_EQ(list(as_strided(x, {2, 2}, {12, 5}, 1)), (Ints{1, 6, 13, 18}));
  EXPECT_EQ(list(as_strided(x.select(0, 1), {2}, {4})), (Ints{12, 16}));
  EXPECT_EQ(list(arange(7).unfold(0, 3, 2)), (Ints{0, 1, 2, 2, 3, 4, 4, 5, 6}));
  EXPECT_EQ(list(diagonal(x, 1, 1, 2)), (Ints{1, 6, 11, 13, 18, 23}));
  EXPECT_EQ(list(diagonal(x, -2, 2, 1)), (Ints{2, 7, 14, 19}));
  EXPECT_EQ(movedim(x, 0, 2).raw_shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(movedim(x, {0, 1}, {1, 2}).raw_shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(x.T().raw_shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(x.mT().raw_shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(unflatten(x, 1, {3, -1}).raw_shape(), (Shape{2, 3, 1, 4}));
  EXPECT_EQ(squeeze(ones({1, 2, 1}), {0, 1}).raw_shape(), (Shape{2, 1}));
  EXPECT_EQ(atleast_3d(ones({5})).raw_shape(), (Shape{1, 5, 1}));
  EXPECT_EQ(broadcast_to(ones({3}), {2, 3}).raw_shape(), (Shape{2, 3}));
  auto sizes = [](const std::vector<Tensor>& parts, int dim) {
    Ints n;
    for (const Tensor& p : parts) n.push_back(p.raw_shape()[dim]);
    return n;
  };
  EXPECT_EQ(sizes(chunk(arange(7), 3), 0), (Ints{3, 3, 1}));
  EXPECT_EQ(sizes(tensor_split(arange(7), 3), 0), (Ints{3, 2, 2}));
  EXPECT_EQ(sizes(tensor_split(arange(7), Shape{2, 2, 9}), 0), (Ints{2, 0, 5, 0}));
  EXPECT_EQ(sizes(split_with_sizes(x, {1, 3}, 2), 2), (Ints{1, 3}));
  EXPECT_EQ(sizes(hsplit(x, int64_t{3}), 1), (Ints{1, 1, 1}));
  EXPECT_EQ(sizes(dsplit(x, Shape{1}), 2), (Ints{1, 3}));
  EXPECT_EQ(unbind(x, 1).size(), 3u);
  EXPECT_EQ(list(unbind(x, 1)[2]), (Ints{8, 9, 10, 11, 20, 21, 22, 23}));
  for (const Tensor& part : chunk(x, 2, 1)) EXPECT_TRUE(part.base().is_same(x.base()));
}

// Element [i, j, k] of a view of a view of ... is element offset + i*s0 + j*s1 + k*s2 of the bytes.
TEST(View, FlatIndexOfTenThousandRandomViews) {
  std::mt19937 random(7);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  Tensor base = arange(4 * 5 * 6).reshape({4, 5, 6}).clone();
  const auto* bytes = static_cast<const int64_t*>(base.data_ptr());
  int checked = 0;
  for (int trial = 0; trial < 10000; ++trial) {
    Tensor v = base;
    // where[d]: base's coordinate as start + step * index, by dims of the view
    int axis[3] = {0, 1, 2};
    int64_t start[3] = {}, step[3] = {1, 1, 1};
    for (int turn = 0; turn < 3; ++turn) {
      int d = static_cast<int>(below(3)), e = static_cast<int>(below(3));
      int64_t n = v.raw_shape()[d], from = below(n), hop = below(3) + 1;
      v = v.slice(d, from, n, hop);
      start[axis[d]] += step[axis[d]] * from;
      step[axis[d]] *= hop;
      v = v.transpose(d, e);
      std::swap(axis[d], axis[e]);
    }
    const Shape& s = v.raw_shape();
    int64_t at[3] = {below(s[0]), below(s[1]), below(s[2])}, want = 0, flat = v.storage_offset();
    const int64_t of_base[3] = {30, 6, 1};
    for (int d = 0; d < 3; ++d) {
      want += (start[axis[d]] + step[axis[d]] * at[d]) * of_base[axis[d]];
      flat += v.stride(d) * at[d];
    }
    ASSERT_EQ(flat, want);
    ASSERT_EQ(bytes[flat], v.select(0, at[0]).select(0, at[1]).select(0, at[2]).item_int());
    ++checked;
  }
  EXPECT_EQ(checked, 10000);
}

}  // namespace
}  // namespace wick
