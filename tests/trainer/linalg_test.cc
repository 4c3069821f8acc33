// Properties of products, decompositions and losses that the function rows do not cover: error
// texts, threads, shared gradients, extremes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;

constexpr DType kD = DType::kF64;

void expect_error(const std::function<void()>& f, const std::string& text) {
  const std::string got = error_of(f);
  EXPECT_NE(got.find(text), std::string::npos) << "got: " << got << "\nwanted: " << text;
  EXPECT_NE(got.find("linalg_test.cc:"), std::string::npos) << "no line of the caller: " << got;
}

TEST(MatmulErrors, NameTheFunctionAndBothShapes) {
  Tensor a = ones({2, 3}), b = ones({4, 5});
  expect_error([&] { mm(a, b); }, "[mm] inner dimensions differ: [2,3] x [4,5]");
  expect_error([&] { mm(a, ones({3})); }, "[mm] needs two matrices, got [2,3] and [3]");
  expect_error(
      [&] {
        bmm(ones({2, 3, 4}), ones({3, 4, 5}));
      },
      "[bmm] batch sizes differ: [2,3,4] x [3,4,5]");
  expect_error([&] { mv(a, ones({2})); }, "[mv] inner dimensions differ: [2,3] x [2]");
  expect_error([&] { dot(ones({2}), ones({3})); }, "[dot] inner dimensions differ: [2] x [3]");
  expect_error(
      [&] {
        mm(a, ones({3, 2}, kD));
      },
      "[mm] operands must have one dtype, got float32 and float64: convert one with to()");
  expect_error(
      [&] {
        addmm(ones({7}), a, ones({3, 2}));
      },
      "[addmm] input [7] does not broadcast to the product [2,2]");
  expect_error([&] { tensordot(a, b, 1); }, "[tensordot] dim 1 of [2,3] and dim 0 of [4,5] differ");
  expect_error(
      [&] {
        chain_matmul({a, b});
      },
      "[chain_matmul] inner dimensions of operands 0 and 1 differ: [2,3] x [4,5]");
}

TEST(EinsumErrors, NameTheSubscript) {
  Tensor a = ones({2, 3}), b = ones({4, 5});
  expect_error(
      [&] {
        einsum("ij,jk->ik", {a, b});
      },
      "[einsum] subscript 'j' is 3 in operand 0 and 4 in operand 1 in \"ij,jk->ik\"");
  expect_error([&] { einsum("ijk->i", {a}); },
               "[einsum] operand 0 [2,3] has 2 dims, its subscripts name 3");
  expect_error([&] { einsum("ij->iz", {a}); },
               "[einsum] output subscript 'z' names no dim of the operands");
  expect_error([&] { einsum("ij->ii", {a}); }, "[einsum] output subscript 'i' is given twice");
  expect_error([&] { einsum("ii", {a}); },
               "[einsum] subscript 'i' repeats over sizes 2 and 3 in operand 0");
  expect_error([&] { einsum("ij,jk", {a}); }, "[einsum] 2 subscripts for 1 operands");
  expect_error([&] { einsum("i1", {a}); }, "[einsum] subscripts are letters, got '1'");
  expect_error([&] { einsum("i.j", {a}); }, "[einsum] a stray '.'");
  expect_error(
      [&] {
        einsum("ij,ij", {a, ones({2, 3}, kD)});
      },
      "[einsum] operands of float32 and float64");
}

TEST(Einsum, BroadcastsSizeOneAndTakesManyOperands) {
  Tensor a = arange(6).to(kD).reshape({2, 3}), one = full({1, 3}, 2.0, kD);
  EXPECT_EQ(einsum("ij,ij->i", {a, one}).to_vector<double>(), (std::vector<double>{6, 24}));
  EXPECT_EQ(einsum("ij,kj->ik", {a, one}).raw_shape(), (Shape{2, 1}));
  Tensor v = tensor({1.0, 2.0}, DType::kF64);
  Tensor five = einsum("a,b,c,d,e->", {v, v, v, v, v});
  EXPECT_EQ(five.item(), 243);
  EXPECT_EQ(einsum("ij,jk->ik", {zeros({2, 0}), zeros({0, 3})}).to_vector<float>(),
            std::vector<float>(6, 0.0F));
}

TEST(LinalgErrors, NameTheBatchEntryAndWhy) {
  Tensor good = eye(3, kD), bad = tensor({{2., 0., 0.}, {0., 3., 0.}, {0., 0., -1.}}, DType::kF64);
  Tensor batch = stack({good, good, bad});
  expect_error([&] { linalg::cholesky(batch); },
               "[cholesky] the matrix at batch [2] is not positive definite: leading minor of "
               "order 3");
  expect_error([&] { linalg::cholesky(bad); },
               "[cholesky] the matrix is not positive definite: leading minor of order 3");
  Tensor singular = tensor({{1., 2.}, {2., 4.}}, DType::kF64);
  expect_error([&] { linalg::inv(singular); },
               "[inverse] the matrix is singular: pivot 2 of its LU factors is 0");
  expect_error(
      [&] {
        linalg::solve(stack({eye(2, kD), singular}).reshape({2, 1, 2, 2}), ones({2, 1, 2, 1}, kD));
      },
      "[solve] the matrix at batch [1,0] is singular");
  expect_error(
      [&] {
        linalg::svd(full({2, 2}, std::numeric_limits<double>::quiet_NaN(), kD));
      },
      "[svd] the matrix has values that are not finite");
  expect_error([&] { linalg::inv(ones({2, 3})); }, "[inverse] needs square matrices, got [2,3]");
  expect_error(
      [&] {
        linalg::solve(eye(3), ones({2, 1}));
      },
      "[solve] the two sides do not fit: [3,3] and [2,1]");
  expect_error(
      [&] {
        linalg::qr(ones({2, 2}, DType::kI64));
      },
      "[qr] needs float32 or float64, got int64: convert with to()");
  Tensor nan = eye(3, kD) * std::numeric_limits<double>::quiet_NaN();
  expect_error([&] { linalg::cholesky(nan); }, "leading minor of order 1");
}

TEST(Linalg, FactorsReconstructAndThreadsDoNotMatter) {
  Generator g{5, 0};
  Tensor a = uniform({3, 40, 24}, -1, 1, kD, g), square_one = a.narrow(1, 0, 24).contiguous();
  auto run = [&] {
    auto f = linalg::qr(a);
    auto s = linalg::svd(a, false);
    auto full = linalg::svd(a);
    auto e = linalg::eigh(square_one + square_one.transpose(-2, -1));
    return std::vector<Tensor>{f.q,
                               f.r,
                               s.u,
                               s.s,
                               s.vh,
                               full.u,
                               e.eigenvalues,
                               e.eigenvectors,
                               linalg::inv(square_one),
                               linalg::det(square_one)};
  };
  set_num_threads(1);
  auto one = run();
  set_num_threads(2);
  auto two = run();
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].to_vector<double>(), two[i].to_vector<double>()) << i;
  }
  auto near = [](const Tensor& x, const Tensor& y) { return amax(abs(x - y)).item(); };
  EXPECT_LE(near(matmul(one[0], one[1]), a), 1e-13);
  EXPECT_LE(near(matmul(one[2] * one[3].unsqueeze(-2), one[4]), a), 1e-13);
  EXPECT_LE(near(matmul(one[5].transpose(-2, -1), one[5]), eye(40, kD)), 1e-13);
  EXPECT_LE(near(matmul(square_one, one[8]), eye(24, kD)), 1e-10);
  Tensor strided = a.transpose(1, 2);
  EXPECT_LE(near(matmul(linalg::qr(strided).q, linalg::qr(strided).r), strided), 1e-13);
}

TEST(Linalg, GradientsAtTheOriginAreZero) {
  Tensor x = zeros({3}, kD).requires_grad_();
  linalg::vector_norm(x).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), std::vector<double>(3, 0.0));
  Tensor y = zeros({2, 3}, kD).requires_grad_();
  cdist(y, y).sum().backward();
  EXPECT_EQ(y.grad().to_vector<double>(), std::vector<double>(6, 0.0));
}

// -- losses

TEST(LossErrors, NameTheTargetItsPlaceAndTheClasses) {
  Tensor logits = ones({2, 3});
  expect_error(
      [&] {
        cross_entropy(logits, tensor<int64_t>({1, 3}));
      },
      "[cross_entropy] target 3 at [1] is no class: there are 3, 0 to 2");
  expect_error(
      [&] {
        nll_loss(ones({1, 3, 2}), tensor<int64_t>({0, -1}).reshape({1, 2}));
      },
      "[nll_loss] target -1 at [0,1] is no class: there are 3, 0 to 2");
  expect_error(
      [&] {
        cross_entropy(logits, tensor<int32_t>({1, 2}));
      },
      "[cross_entropy] targets must be int64 class indices, got int32: convert with "
      "to(DType::kI64)");
  expect_error(
      [&] {
        cross_entropy(logits, tensor<int64_t>({1, 2, 0}));
      },
      "[cross_entropy] needs [N, C, ...] and targets [N, ...], got [2,3] and [3]");
  expect_error(
      [&] {
        binary_cross_entropy(tensor({0.5, 1.5}, DType::kF64), tensor({0.0, 1.0}, DType::kF64));
      },
      "element 1 is 1.5");
  expect_error([&] { mse_loss(ones({2}, DType::kI64), ones({2}, DType::kI64)); },
               "[mse_loss] needs a floating-point input, got int64");
}

TEST(Losses, ExtremesStayFinite) {
  Tensor logits = tensor({{1e4, -1e4}, {-1e4, 1e4}}, DType::kF64).requires_grad_();
  Tensor ce = cross_entropy(logits, tensor<int64_t>({1, 1}));
  EXPECT_EQ(ce.item(), 1e4);
  ce.backward();
  EXPECT_EQ(logits.grad().to_vector<double>(), (std::vector<double>{0.5, -0.5, 0, 0}));
  Tensor p = tensor({0.0, 1.0, 0.0, 1.0}, DType::kF64).requires_grad_();
  Tensor bce =
      binary_cross_entropy(p, tensor({0.0, 1.0, 1.0, 0.0}, DType::kF64), Tensor(), Reduction::kSum);
  EXPECT_EQ(bce.item(), 200);
  bce.backward();  // PyTorch's (p - t) / max(p (1 - p), 1e-12), whose constant is a float
  auto g = p.grad().to_vector<double>();
  EXPECT_EQ(g[0], 0);
  EXPECT_EQ(g[1], 0);
  EXPECT_DOUBLE_EQ(g[2], -1 / static_cast<double>(1e-12F));
  EXPECT_DOUBLE_EQ(g[3], 1 / static_cast<double>(1e-12F));
  Tensor ignored = cross_entropy(logits, tensor<int64_t>({-100, -100}));
  EXPECT_TRUE(std::isnan(ignored.item()));  // the mean of nothing, as in PyTorch
}

// loss * 4 gives gradients exactly four times as large, for every loss and reduction: a formula
// that forgets the gradient from above passes every check of a loss alone.
TEST(Losses, UpstreamScaleReachesTheGradient) {
  Tensor x0 = tensor({{0.3, -0.7, 1.1}, {-0.2, 0.9, 0.4}}, DType::kF64);
  Tensor t = tensor({{0.1, 0.5, 0.8}, {0.9, 0.2, 0.6}}, DType::kF64);
  Tensor classes = tensor<int64_t>({2, 0});
  using Loss = std::function<Tensor(const Tensor&, Reduction)>;
  const std::vector<std::pair<const char*, Loss>> losses = {
      {"mse", [&](const Tensor& x, Reduction r) { return mse_loss(x, t, r); }},
      {"l1", [&](const Tensor& x, Reduction r) { return l1_loss(x, t, r); }},
      {"smooth_l1", [&](const Tensor& x, Reduction r) { return smooth_l1_loss(x, t, r); }},
      {"huber", [&](const Tensor& x, Reduction r) { return huber_loss(x, t, r); }},
      {"nll", [&](const Tensor& x, Reduction r) { return nll_loss(x, classes, r); }},
      {"cross_entropy", [&](const Tensor& x, Reduction r) { return cross_entropy(x, classes, r); }},
      {"bce", [&](const Tensor& x,
                  Reduction r) { return binary_cross_entropy(sigmoid(x), t, Tensor(), r); }},
      {"bce_logits", [&](const Tensor& x, Reduction r) {
         return binary_cross_entropy_with_logits(x, t, {}, r);
       }}};
  for (const auto& [name, loss] : losses) {
    for (Reduction r : {Reduction::kMean, Reduction::kSum, Reduction::kNone}) {
      std::vector<double> grads[2];
      for (int scaled = 0; scaled < 2; ++scaled) {
        Tensor x = x0.clone().requires_grad_();
        Tensor y = loss(x, r).sum();
        (scaled != 0 ? y * 4.0 : y).backward();
        grads[scaled] = x.grad().to_vector<double>();
      }
      bool any = false;
      for (size_t i = 0; i < grads[0].size(); ++i) {
        EXPECT_EQ(grads[1][i], 4 * grads[0][i]) << name << ", element " << i;
        any = any || grads[0][i] != 0;
      }
      EXPECT_TRUE(any) << name;
    }
  }
}

}  // namespace
}  // namespace wick
