// Products of matrices, solvers and decompositions.
#include "tests/functions/function_row.h"

namespace wick::test {
namespace {

constexpr DTypeSet kWideFloats = dtypes(DType::kF64, DType::kF32);
constexpr DTypeSet kProducts = kWideFloats | kInts;
constexpr char kTrainOp[] = "decompositions are of role kTrain";

// n x n, far from singular; the second of a pair.
In regular(int64_t n = 3) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const auto off = static_cast<double>((i * 5 + j * 3) % 7 - 3) / 8;
      v.push_back(i == j ? static_cast<double>(2 + i) + off : off);
    }
  }
  return given(v, {n, n});
}
In regular_batch() {
  In one = regular();
  std::vector<double> v = one.values;
  for (double x : one.values) v.push_back(x * 0.5 + (x > 1 ? 1 : -0.125));
  return given(v, {2, 3, 3});
}
// Matrices whose largest elements are far from equal and stand below the diagonal, so that rows are
// swapped; the second of a pair.
In pivoted(int64_t rows, int64_t columns, int64_t batch = 0) {
  std::vector<double> v;
  for (int64_t b = 0; b < std::max<int64_t>(batch, 1); ++b) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const auto off = static_cast<double>((i * 5 + j * 3 + b) % 7 - 3) / 8;
        const bool large = j < rows && i == (j + 1 + b) % rows;
        v.push_back(large ? static_cast<double>(2 + j) + off : off);
      }
    }
  }
  return given(v, batch == 0 ? Shape{rows, columns} : Shape{batch, rows, columns});
}
In spread_tall() {
  return given({3, 0.5, -0.25, 0.125, 2, 0.25, 0.5, -0.5, 1, 0.25, 0.75, -1}, {4, 3});
}

// A pair of complex eigenvalues and a real one.
In spiral() { return given({0.5, -2, 0.25, 1.5, 0.75, 1, -0.5, 0.25, -1}, {3, 3}); }

// Returns what depends neither on the eigenvalues' order nor on the vectors' phases: the rows'
// squares, weighted by the real parts of the values.
Tensor weighted_squares(const EigResult& f) {
  Tensor size = sum(square(f.eigenvectors), {-1}), w = f.eigenvalues.select(-1, 0).unsqueeze(-2);
  return sum(size * w, {-1});
}
// Returns what does not depend on the vectors' signs: u_i v_i^T s_i and squares.
List svd_signless(const SvdResult& f) { return {square(f.u), f.s, square(f.vh)}; }
Tensor symmetric(const Tensor& x) { return x + x.transpose(-2, -1); }
// R with positive diagonal, Q to match.
List qr_signless(const QrResult& f) {
  return {matmul(f.q, f.q.transpose(-2, -1)), matmul(f.r.transpose(-2, -1), f.r)};
}

void products(Rows& row) {
  row("matmul", smooth, kProducts)
      .sample("x0 @ x1", {x({3, 4}), x({4, 2})}, WICK_FN(matmul(x0, x1)), kFloats | kInts)
      .sample("x0 @ x1", {x({2, 1, 2, 3}), x({2, 3, 2})}, WICK_FN(matmul(x0, x1)))
      .sample("x0 @ x1", {x({3}), x({3})}, WICK_FN(matmul(x0, x1)))
      .sample("x0 @ x1", {x({3}), x({2, 3, 2})}, WICK_FN(matmul(x0, x1)))
      .sample("x0 @ x1", {x({2, 2, 3}), x({3})}, WICK_FN(matmul(x0, x1)))
      .sample("x0 @ x1", {x({2, 0}), x({0, 3})}, WICK_FN(matmul(x0, x1)));
  row("linear", smooth, kFloats)
      .sample("F.linear(x0, x1, x2)", {x({2, 2, 3}), x({4, 3}), x({4})},
              WICK_FN(linear(x0, x1, x2)))
      .sample("F.linear(x0, x1, x2)", {x({2, 2, 0}), x({4, 0}), x({4})},
              WICK_FN(linear(x0, x1, x2)))
      .sample("F.linear(x0, x1)", {x({3}), x({4, 3})}, WICK_FN(linear(x0, x1)))
      .sample("F.linear(x0, x1)", {x({2, 3}), x({3})}, WICK_FN(linear(x0, x1)), kWideFloats);
  row("mm", smooth, kProducts)
      .sample("torch.mm(x0, x1)", {x({3, 4}), x({4, 2})}, WICK_FN(mm(x0, x1)));
  row("bmm", smooth, kProducts)
      .sample("torch.bmm(x0, x1)", {x({2, 3, 4}), x({2, 4, 2})}, WICK_FN(bmm(x0, x1)));
  row("mv", smooth, kProducts).sample("torch.mv(x0, x1)", {x({3, 4}), x({4})}, WICK_FN(mv(x0, x1)));
  row("dot", smooth, kProducts).sample("torch.dot(x0, x1)", {x({4}), x({4})}, WICK_FN(dot(x0, x1)));
  row("vdot", smooth, kProducts)
      .sample("torch.vdot(x0, x1)", {x({4}), x({4})}, WICK_FN(vdot(x0, x1)));
  row("inner", smooth, kWideFloats)
      .sample("torch.inner(x0, x1)", {x({2, 4}), x({3, 2, 4})}, WICK_FN(inner(x0, x1)))
      .sample("torch.inner(x0, x1)", {x({4}), x({4})}, WICK_FN(inner(x0, x1)))
      .sample("torch.inner(x0, x1)", {x({}), x({2, 3})}, WICK_FN(inner(x0, x1)));
  row("outer", smooth, kProducts)
      .sample("torch.outer(x0, x1)", {x({3}), x({4})}, WICK_FN(outer(x0, x1)));
  row("ger", smooth, kProducts).sample("torch.ger(x0, x1)", {x({3}), x({4})}, WICK_FN(ger(x0, x1)));
  row("bilinear", smooth, kWideFloats)
      .sample("F.bilinear(x0, x1, x2, x3)", {x({2, 3}), x({2, 4}), x({5, 3, 4}), x({5})},
              WICK_FN(bilinear(x0, x1, x2, x3)));
  row("addmm", smooth, kProducts)
      .sample("torch.addmm(x0, x1, x2)", {x({3, 2}), x({3, 4}), x({4, 2})},
              WICK_FN(addmm(x0, x1, x2)))
      .sample("torch.addmm(x0, x1, x2, beta=3, alpha=2)", {x({2}), x({3, 4}), x({4, 2})},
              WICK_FN(addmm(x0, x1, x2, 3, 2)))
      .sample("torch.addmm(x0, x1, x2, beta=0)", {given({kNan, 1}), x({3, 4}), x({4, 2})},
              WICK_FN(addmm(x0, x1, x2, 0)), kWideFloats);
  row("addmv", smooth, kWideFloats)
      .sample("torch.addmv(x0, x1, x2, beta=0.5, alpha=2)", {x({3}), x({3, 4}), x({4})},
              WICK_FN(addmv(x0, x1, x2, 0.5, 2)));
  row("addr", smooth, kWideFloats)
      .sample("torch.addr(x0, x1, x2, beta=0.5, alpha=2)", {x({3, 4}), x({3}), x({4})},
              WICK_FN(addr(x0, x1, x2, 0.5, 2)));
  row("baddbmm", smooth, kWideFloats)
      .sample("torch.baddbmm(x0, x1, x2, beta=0.5, alpha=2)",
              {x({2, 3, 2}), x({2, 3, 4}), x({2, 4, 2})}, WICK_FN(baddbmm(x0, x1, x2, 0.5, 2)));
  row("addbmm", smooth, kWideFloats)
      .sample("torch.addbmm(x0, x1, x2, beta=0.5, alpha=2)",
              {x({3, 2}), x({2, 3, 4}), x({2, 4, 2})}, WICK_FN(addbmm(x0, x1, x2, 0.5, 2)));
  row("einsum", smooth, kWideFloats)
      .sample("torch.einsum('ij,jk->ik', x0, x1)", {x({2, 3}), x({3, 4})},
              WICK_FN(einsum("ij,jk->ik", {x0, x1})), kProducts)
      .sample("torch.einsum('bij,bkj', x0, x1)", {x({2, 3, 4}), x({2, 2, 4})},
              WICK_FN(einsum("bij,bkj", {x0, x1})))
      .sample("torch.einsum('ii', x0)", {x({3, 3})}, WICK_FN(einsum("ii", {x0})))
      .sample("torch.einsum('ii->i', x0)", {x({3, 3})}, WICK_FN(einsum("ii->i", {x0})))
      .sample("torch.einsum('iji->ji', x0)", {x({3, 2, 3})}, WICK_FN(einsum("iji->ji", {x0})))
      .sample("torch.einsum('...ij->...ji', x0)", {x({2, 3, 4})},
              WICK_FN(einsum("...ij->...ji", {x0})))
      .sample("torch.einsum('ij->', x0)", {x({2, 3})}, WICK_FN(einsum("ij->", {x0})))
      .sample("torch.einsum('ba', x0)", {x({2, 3})}, WICK_FN(einsum("ba", {x0})))
      .sample("torch.einsum('...ij,...jk', x0, x1)", {x({2, 1, 2, 3}), x({4, 3, 2})},
              WICK_FN(einsum("...ij,...jk", {x0, x1})))
      .sample("torch.einsum('i,j,k->ijk', x0, x1, x2)", {x({2}), x({3}), x({2})},
              WICK_FN(einsum("i,j,k->ijk", {x0, x1, x2})))
      .sample("torch.einsum('bn,anm,bm->ba', x0, x1, x2)", {x({2, 3}), x({4, 3, 2}), x({2, 2})},
              WICK_FN(einsum("bn,anm,bm->ba", {x0, x1, x2})))
      .sample("torch.einsum(' i j , j -> i ', x0, x1)", {x({2, 3}), x({3})},
              WICK_FN(einsum(" i j , j -> i ", {x0, x1})))
      .sample("torch.einsum('bhid,bhjd->bhij', x0, x1)", {x({2, 2, 3, 4}), x({2, 2, 2, 4})},
              WICK_FN(einsum("bhid,bhjd->bhij", {x0, x1})))
      .sample("torch.einsum('abcd,cdef->abef', x0, x1)", {x({2, 2, 3, 2}), x({3, 2, 2, 3})},
              WICK_FN(einsum("abcd,cdef->abef", {x0, x1})))
      .sample("torch.einsum('ij,ij->ij', x0, x1)", {x({2, 3}), x({2, 3})},
              WICK_FN(einsum("ij,ij->ij", {x0, x1})))
      .sample("torch.einsum('iij,jk->ik', x0, x1)", {x({2, 2, 3}), x({3, 2})},
              WICK_FN(einsum("iij,jk->ik", {x0, x1})))
      .sample("torch.einsum('Ab,bA->bA', x0, x1)", {x({2, 3}), x({3, 2})},
              WICK_FN(einsum("Ab,bA->bA", {x0, x1})))
      .sample("torch.einsum(',i->i', x0, x1)", {x({}), x({3})}, WICK_FN(einsum(",i->i", {x0, x1})))
      .sample("torch.einsum('i...,i...->...', x0, x1)", {x({2, 3, 4}), x({2, 4})},
              WICK_FN(einsum("i...,i...->...", {x0, x1})));
  row("tensordot", smooth, kWideFloats)
      .sample("torch.tensordot(x0, x1, 2)", {x({2, 3, 4}), x({3, 4, 5})},
              WICK_FN(tensordot(x0, x1, 2)))
      .sample("torch.tensordot(x0, x1, ([0, -1], [1, 0]))", {x({2, 3, 4}), x({4, 2, 5})},
              WICK_FN(tensordot(x0, x1, {0, -1}, {1, 0})))
      .sample("torch.tensordot(x0, x1, 0)", {x({2}), x({3})}, WICK_FN(tensordot(x0, x1, 0)));
  row("kron", smooth, kProducts)
      .sample("torch.kron(x0, x1)", {x({2, 3}), x({3, 2})}, WICK_FN(kron(x0, x1)))
      .sample("torch.kron(x0, x1)", {x({3}), x({2, 2})}, WICK_FN(kron(x0, x1)));
  row("chain_matmul", smooth, kWideFloats)
      .sample("torch.linalg.multi_dot([x0, x1, x2])", {x({2, 5}), x({5, 3}), x({3, 4})},
              WICK_FN(chain_matmul({x0, x1, x2})))
      .sample("torch.linalg.multi_dot([x0, x1, x2])", {x({5}), x({5, 3}), x({3})},
              WICK_FN(chain_matmul({x0, x1, x2})));
  row("linalg::multi_dot", smooth, kWideFloats)
      .sample("torch.linalg.multi_dot([x0, x1, x2, x3])",
              {x({2, 5}), x({5, 3}), x({3, 4}), x({4, 2})},
              WICK_FN(linalg::multi_dot({x0, x1, x2, x3})));
  row("matrix_power", smooth, kWideFloats)
      .sample("torch.matrix_power(x0, 3)", {x({2, 3, 3})}, WICK_FN(matrix_power(x0, 3)))
      .sample("torch.matrix_power(x0, 1)", {x({3, 3})}, WICK_FN(matrix_power(x0, 1)))
      .sample("torch.matrix_power(x0, 6)", {x({3, 3}, -1, 1)}, WICK_FN(matrix_power(x0, 6)));
  row("linalg::matrix_power", smooth, kWideFloats)
      .sample("torch.linalg.matrix_power(x0, -2)", {regular()},
              WICK_FN(linalg::matrix_power(x0, -2)))
      .not_captured(kTrainOp);
  row("trace", smooth, kProducts)
      .sample("torch.trace(x0)", {x({3, 3})}, WICK_FN(trace(x0)))
      .sample("torch.trace(x0)", {x({2, 4})}, WICK_FN(trace(x0)))
      // PyTorch 1.13's gradient of a tall matrix's trace has an element too many: values only
      .sample("torch.trace(x0) * x1", {x({4, 2}).no_grad(), x({})}, WICK_FN(trace(x0) * x1),
              kWideFloats);
  row("cross", smooth, kProducts)
      .sample("torch.cross(x0, x1)", {x({2, 3}), x({2, 3})}, WICK_FN(cross(x0, x1)))
      .sample("torch.cross(x0, x1, dim=0)", {x({3, 2}), x({3, 2})}, WICK_FN(cross(x0, x1, 0)));
  row("linalg::cross", smooth, kWideFloats)
      .sample("torch.linalg.cross(x0, x1)", {x({2, 3}), x({1, 3})}, WICK_FN(linalg::cross(x0, x1)));
  row("cdist", smooth, kWideFloats)
      .sample("torch.cdist(x0, x1)", {x({2, 4, 3}), x({2, 5, 3})}, WICK_FN(cdist(x0, x1)))
      .sample("torch.cdist(x0, x1, p=1)", {distinct({4, 3}), x({5, 3}, 0.01, 0.05)},
              WICK_FN(cdist(x0, x1, 1)));
  row("cosine_similarity", smooth, kWideFloats)
      .sample("F.cosine_similarity(x0, x1)", {x({3, 4}), x({3, 4})},
              WICK_FN(cosine_similarity(x0, x1)))
      .sample("F.cosine_similarity(x0, x1, dim=0)", {x({4, 2}), x({4, 2})},
              WICK_FN(cosine_similarity(x0, x1, 0)))
      // One number that is repeated three times has the length of three; its gradient is 0.
      .sample("F.cosine_similarity(x0, x1)", {x({4, 1}).no_grad(), x({4, 3})},
              WICK_FN(cosine_similarity(x0, x1)))
      .sample("F.cosine_similarity(x0, x1, dim=0)", {x({2, 3, 4}), x({3, 4}).no_grad()},
              WICK_FN(cosine_similarity(x0, x1, 0)))
      .sample("F.cosine_similarity(x0, x1, dim=-1)", {x(Shape{}), x(Shape{})},
              WICK_FN(cosine_similarity(x0, x1, -1)));
  row("pairwise_distance", smooth, kWideFloats)
      .sample("F.pairwise_distance(x0, x1)", {x({3, 4}), x({3, 4})},
              WICK_FN(pairwise_distance(x0, x1)))
      .sample("F.pairwise_distance(x0, x1, p=1, keepdim=True)",
              {distinct({3, 4}), x({3, 4}, 0.01, 0.05)},
              WICK_FN(pairwise_distance(x0, x1, 1, 1e-6, true)));
}

void systems(Rows& row) {
  row("linalg::solve", smooth, kWideFloats)
      .sample("torch.linalg.solve(x0, x1)", {regular(), x({3, 2})}, WICK_FN(linalg::solve(x0, x1)))
      .sample("torch.linalg.solve(x0, x1)", {regular(), x({3})}, WICK_FN(linalg::solve(x0, x1)))
      .sample("torch.linalg.solve(x0, x1)", {regular_batch(), x({2, 3})},
              WICK_FN(linalg::solve(x0, x1)))
      .sample("torch.linalg.solve(x0, x1)", {regular_batch(), x({4, 1, 3, 2})},
              WICK_FN(linalg::solve(x0, x1)))
      .not_captured(kTrainOp);
  row("linalg::inv", smooth, kWideFloats)
      .sample("torch.linalg.inv(x0)", {regular_batch()}, WICK_FN(linalg::inv(x0)))
      .sample("torch.linalg.inv(x0)", {x({0, 0})}, WICK_FN(linalg::inv(x0)))
      .not_captured(kTrainOp);
  row("inverse", smooth, kWideFloats)
      .sample("torch.inverse(x0)", {regular()}, WICK_FN(inverse(x0)))
      .not_captured(kTrainOp);
  row("linalg::solve_triangular", smooth, kWideFloats)
      .sample("torch.linalg.solve_triangular(x0, x1, upper=False)", {regular(), x({3, 2})},
              WICK_FN(linalg::solve_triangular(x0, x1, false)))
      .sample("torch.linalg.solve_triangular(x0, x1, upper=True)", {regular_batch(), x({2, 3, 2})},
              WICK_FN(linalg::solve_triangular(x0, x1, true)))
      .sample("torch.linalg.solve_triangular(x0, x1, upper=True, left=False)",
              {regular(), x({2, 3})}, WICK_FN(linalg::solve_triangular(x0, x1, true, false)))
      .sample("torch.linalg.solve_triangular(x0, x1, upper=False, unitriangular=True)",
              {regular(), x({3, 2})}, WICK_FN(linalg::solve_triangular(x0, x1, false, true, true)))
      .not_captured(kTrainOp);
  row("triangular_solve", smooth, kWideFloats)
      .sample("torch.triangular_solve(x0, x1)[0]", {x({3, 2}), regular()},
              WICK_FN(triangular_solve(x0, x1)))
      .sample("torch.triangular_solve(x0, x1, upper=False, transpose=True)[0]",
              {x({3, 2}), regular()}, WICK_FN(triangular_solve(x0, x1, false, true)))
      .not_captured(kTrainOp);
  row("linalg::cholesky", smooth, kWideFloats)
      .sample("torch.linalg.cholesky(x0 @ x0.mT + torch.eye(3, dtype=x0.dtype))", {x({2, 3, 3})},
              WICK_FN(linalg::cholesky(matmul(x0, x0.transpose(-2, -1)) + eye(3, x0.dtype()))))
      .sample(
          "torch.linalg.cholesky(x0 @ x0.mT + torch.eye(3, dtype=x0.dtype), upper=True)",
          {x({3, 3})},
          WICK_FN(linalg::cholesky(matmul(x0, x0.transpose(-2, -1)) + eye(3, x0.dtype()), true)))
      .not_captured(kTrainOp);
  row("cholesky", smooth, kWideFloats)
      .sample("torch.cholesky(x0 @ x0.mT + torch.eye(3, dtype=x0.dtype))", {x({3, 3})},
              WICK_FN(cholesky(matmul(x0, x0.transpose(-2, -1)) + eye(3, x0.dtype()))))
      .not_captured(kTrainOp);
  row("cholesky_solve", smooth, kWideFloats)
      .sample("torch.cholesky_solve(x0, torch.tril(x1))", {x({3, 2}), regular()},
              WICK_FN(cholesky_solve(x0, x1)))
      .not_captured(kTrainOp);
  row("linalg::det", smooth, kWideFloats)
      .sample("torch.linalg.det(x0)", {regular_batch()}, WICK_FN(linalg::det(x0)))
      .sample("torch.linalg.det(x0)", {x({0, 0})}, WICK_FN(linalg::det(x0)))
      .not_captured(kTrainOp);
  row("det", smooth, kWideFloats)
      .sample("torch.det(x0)", {regular()}, WICK_FN(det(x0)))
      .not_captured(kTrainOp);
  row("linalg::slogdet", smooth, kWideFloats)
      .sample("torch.linalg.slogdet(x0)", {regular_batch()}, WICK_FN([&] {
                auto d = linalg::slogdet(x0);
                return List{d.sign, d.logabsdet};
              }()))
      .not_captured(kTrainOp);
  row("slogdet", smooth, kWideFloats)
      .sample("torch.slogdet(x0)", {given({1, 2, 3, 4}, {2, 2})}, WICK_FN([&] {
                auto d = slogdet(x0);
                return List{d.sign, d.logabsdet};
              }()))
      .not_captured(kTrainOp);
  row("logdet", smooth, kWideFloats)
      .sample("torch.logdet(x0)", {regular()}, WICK_FN(logdet(x0)))
      .not_captured(kTrainOp);
}

void decompositions(Rows& row) {
  row("linalg::qr", smooth, kWideFloats)
      .sample("(lambda q, r: (q @ q.mT, r.mT @ r))(*torch.linalg.qr(x0))", {x({2, 4, 3})},
              WICK_FN(qr_signless(linalg::qr(x0))))
      .sample("(lambda q, r: (q @ q.mT, r.mT @ r))(*torch.linalg.qr(x0))", {regular()},
              WICK_FN(qr_signless(linalg::qr(x0))))
      .sample("(lambda q, r: (q @ q.mT, r.mT @ r))(*torch.linalg.qr(x0))", {pivoted(3, 5, 2)},
              WICK_FN(qr_signless(linalg::qr(x0))))
      .sample("torch.linalg.qr(x0)[1].abs()", {pivoted(2, 3)}, WICK_FN(abs(linalg::qr(x0).r)))
      .not_captured(kTrainOp);
  row("qr", once("the complete form has no gradient"), kWideFloats)
      .sample("torch.qr(x0)[1].abs()", {regular()}, WICK_FN(abs(qr(x0).r)))
      .not_captured(kTrainOp);
  row("linalg::svd", smooth, kWideFloats)
      .sample("(lambda u, s, v: (u * u, s, v * v))(*torch.linalg.svd(x0, full_matrices=False))",
              {spread_tall()}, WICK_FN(svd_signless(linalg::svd(x0, false))))
      .sample("(lambda u, s, v: (u * u, s, v * v))(*torch.linalg.svd(x0, full_matrices=False))",
              {regular_batch()}, WICK_FN(svd_signless(linalg::svd(x0, false))))
      .sample("torch.linalg.svd(x0)[1]", {regular()}, WICK_FN(linalg::svd(x0).s))
      .not_captured(kTrainOp);
  row("linalg::svdvals", smooth, kWideFloats)
      .sample("torch.linalg.svdvals(x0)", {x({2, 3, 4})}, WICK_FN(linalg::svdvals(x0)))
      .not_captured(kTrainOp);
  row("linalg::eigh", smooth, kWideFloats)
      .sample("(lambda w, v: (w, v * v))(*torch.linalg.eigh(x0 + x0.mT))", {regular_batch()},
              WICK_FN([&] {
                auto f = linalg::eigh(symmetric(x0));
                return List{f.eigenvalues, square(f.eigenvectors)};
              }()))
      .sample("torch.linalg.eigh(x0 + x0.mT, UPLO='U')[0]", {regular()},
              WICK_FN(linalg::eigh(symmetric(x0), 'U').eigenvalues))
      .not_captured(kTrainOp);
  row("linalg::eigvalsh", smooth, kWideFloats)
      .sample("torch.linalg.eigvalsh(x0 + x0.mT)", {regular()},
              WICK_FN(linalg::eigvalsh(symmetric(x0))))
      .not_captured(kTrainOp);
  constexpr char kRows[] =
      "(lambda w, v: ((v.real ** 2 + v.imag ** 2) * w.real.unsqueeze(-2)).sum(-1))"
      "(*torch.linalg.eig(x0))";
  row("linalg::eig", smooth, kWideFloats)
      .sample(kRows, {regular_batch()}, WICK_FN(weighted_squares(linalg::eig(x0))))
      .sample(kRows, {spiral()}, WICK_FN(weighted_squares(linalg::eig(x0))))
      .not_captured(kTrainOp);
  constexpr char kPowers[] = "torch.view_as_real(torch.linalg.eigvals(x0)).pow(2).sum(-2)";
  row("linalg::eigvals", smooth, kWideFloats)
      .sample(kPowers, {regular_batch()}, WICK_FN(sum(square(linalg::eigvals(x0)), {-2})))
      .sample(kPowers, {spiral()}, WICK_FN(sum(square(linalg::eigvals(x0)), {-2})))
      .sample("torch.view_as_real(torch.linalg.eigvals(x0))", {x({1, 1})},
              WICK_FN(linalg::eigvals(x0)))
      .not_captured(kTrainOp);
  row("linalg::lu_factor", smooth, kWideFloats)
      .sample("torch.linalg.lu_factor(x0)[0]", {regular_batch()}, WICK_FN(linalg::lu_factor(x0).lu))
      .sample("torch.linalg.lu_factor(x0)[0]", {pivoted(3, 3)}, WICK_FN(linalg::lu_factor(x0).lu))
      .sample("torch.linalg.lu_factor(x0)[0]", {pivoted(3, 5)}, WICK_FN(linalg::lu_factor(x0).lu))
      .sample("torch.linalg.lu_factor(x0)[0]", {pivoted(5, 3, 2)},
              WICK_FN(linalg::lu_factor(x0).lu))
      .not_captured(kTrainOp);
  row("linalg::lu", smooth, kWideFloats)
      .sample("torch.linalg.lu(x0)[1:]", {pivoted(4, 3)}, WICK_FN([&] {
                auto f = linalg::lu(x0);
                return List{f.l, f.u};
              }()))
      .sample("torch.linalg.lu(x0)[1:]", {pivoted(3, 4, 2)}, WICK_FN([&] {
                auto f = linalg::lu(x0);
                return List{f.l, f.u};
              }()))
      .sample("torch.linalg.lu(x0)[0] @ x1", {pivoted(4, 3).no_grad(), x({4, 2})},
              WICK_FN(matmul(linalg::lu(x0).p, x1)))
      .not_captured(kTrainOp);
  row("lu", smooth, kWideFloats)
      .sample("torch.lu(x0)[0]", {pivoted(3, 3)}, WICK_FN(lu(x0).lu))
      .not_captured(kTrainOp);
  row("lu_unpack", smooth, kWideFloats)
      .sample("torch.lu_unpack(*torch.linalg.lu_factor(x0))[1:]", {pivoted(3, 3, 2)}, WICK_FN([&] {
                auto f = linalg::lu_factor(x0);
                auto r = lu_unpack(f.lu, f.pivots);
                return List{r.l, r.u};
              }()))
      .sample("torch.lu_unpack(*torch.linalg.lu_factor(x0))[0] @ x1",
              {pivoted(3, 3).no_grad(), x({3, 2})}, WICK_FN([&] {
                auto f = linalg::lu_factor(x0);
                return matmul(lu_unpack(f.lu, f.pivots).p, x1);
              }()))
      .not_captured(kTrainOp);
  row("linalg::lu_solve", smooth, kWideFloats)
      .sample("torch.linalg.lu_solve(*torch.linalg.lu_factor(x0), x1)", {pivoted(3, 3), x({3, 2})},
              WICK_FN([&] {
                auto f = linalg::lu_factor(x0);
                return linalg::lu_solve(f.lu, f.pivots, x1);
              }()))
      .sample("torch.linalg.lu_solve(*torch.linalg.lu_factor(x0), x1, adjoint=True)",
              {pivoted(3, 3), x({4, 3, 2})}, WICK_FN([&] {
                auto f = linalg::lu_factor(x0);
                return linalg::lu_solve(f.lu, f.pivots, x1, true, true);
              }()))
      .sample("torch.linalg.lu_solve(*torch.linalg.lu_factor(x0), x1, left=False)",
              {regular_batch(), x({2, 2, 3})}, WICK_FN([&] {
                auto f = linalg::lu_factor(x0);
                return linalg::lu_solve(f.lu, f.pivots, x1, false);
              }()))
      .not_captured(kTrainOp);
  row("lu_solve", smooth, kWideFloats)
      .sample("torch.lu_solve(x1, *torch.linalg.lu_factor(x0))", {pivoted(3, 3), x({3, 2})},
              WICK_FN([&] {
                auto f = linalg::lu_factor(x0);
                return lu_solve(x1, f.lu, f.pivots);
              }()))
      .not_captured(kTrainOp);
  row("linalg::lstsq", smooth, kWideFloats)
      .sample("torch.linalg.lstsq(x0, x1)[0]", {spread_tall(), x({4, 2})},
              WICK_FN(linalg::lstsq(x0, x1).solution))
      .sample("torch.linalg.lstsq(x0.mT, x1)[0]", {spread_tall(), x({3, 2})},
              WICK_FN(linalg::lstsq(x0.transpose(0, 1), x1).solution))
      .not_captured(kTrainOp);
  row("linalg::pinv", smooth, kWideFloats)
      .sample("torch.linalg.pinv(x0)", {spread_tall()}, WICK_FN(linalg::pinv(x0)))
      .not_captured(kTrainOp);
  row("pinverse", smooth, kWideFloats)
      .sample("torch.pinverse(x0)", {spread_tall()}, WICK_FN(pinverse(x0)))
      .not_captured(kTrainOp);
  row("linalg::matrix_rank", integer_output, kWideFloats)
      .sample("torch.linalg.matrix_rank(x0)", {spread_tall()}, WICK_FN(linalg::matrix_rank(x0)))
      .sample("torch.linalg.matrix_rank(x0)", {given({1, 2, 2, 4}, {2, 2})},
              WICK_FN(linalg::matrix_rank(x0)))
      .not_captured(kTrainOp);
  row("linalg::cond", smooth, kWideFloats)
      .sample("torch.linalg.cond(x0)", {spread_tall()}, WICK_FN(linalg::cond(x0)))
      .sample("torch.linalg.norm(x0, 1) * torch.linalg.norm(torch.linalg.inv(x0), 1)", {regular()},
              WICK_FN(linalg::cond(x0, 1)))
      .not_captured(kTrainOp);
}

void norms(Rows& row) {
  row("linalg::vector_norm", piecewise, kWideFloats)
      .sample("torch.linalg.vector_norm(x0)", {x({3, 4})}, WICK_FN(linalg::vector_norm(x0)))
      .sample("torch.linalg.vector_norm(x0, 1, dim=1)", {off_zero({3, 4})},
              WICK_FN(linalg::vector_norm(x0, 1, {1})))
      .sample("torch.linalg.vector_norm(x0, 3, dim=(0, 2), keepdim=True)", {off_zero({2, 3, 2})},
              WICK_FN(linalg::vector_norm(x0, 3, {0, 2}, true)))
      .sample("torch.linalg.vector_norm(x0, 0.5)", {off_zero({4})},
              WICK_FN(linalg::vector_norm(x0, 0.5)))
      .sample("torch.linalg.vector_norm(x0, inf, dim=1)", {distinct({3, 4})},
              WICK_FN(linalg::vector_norm(x0, kInf, {1})))
      .sample("torch.linalg.vector_norm(x0, -inf, dim=0)", {distinct({3, 4})},
              WICK_FN(linalg::vector_norm(x0, -kInf, {0})));
  row("linalg::matrix_norm", piecewise, kWideFloats)
      .sample("torch.linalg.matrix_norm(x0)", {x({2, 3, 4})}, WICK_FN(linalg::matrix_norm(x0)))
      .sample("torch.linalg.matrix_norm(x0, 'nuc')", {spread_tall()},
              WICK_FN(linalg::matrix_norm(x0, "nuc")))
      .sample("torch.linalg.matrix_norm(x0, 2, keepdim=True)", {spread_tall()},
              WICK_FN(linalg::matrix_norm(x0, 2, {-2, -1}, true)))
      .sample("torch.linalg.matrix_norm(x0, -2)", {spread_tall()},
              WICK_FN(linalg::matrix_norm(x0, -2)))
      .sample("torch.linalg.matrix_norm(x0, 1)", {spread_tall()},
              WICK_FN(linalg::matrix_norm(x0, 1)))
      .sample("torch.linalg.matrix_norm(x0, -inf, dim=(0, 2))", {distinct({3, 2, 4})},
              WICK_FN(linalg::matrix_norm(x0, -kInf, {0, 2})))
      .not_captured("the spectral ones are of role kTrain");
  row("linalg::norm", piecewise, kWideFloats)
      .sample("torch.linalg.norm(x0)", {x({2, 3, 4})}, WICK_FN(linalg::norm(x0)))
      .sample("torch.linalg.norm(x0, inf)", {distinct({3, 4})}, WICK_FN(linalg::norm(x0, kInf)))
      .sample("torch.linalg.norm(x0, 4)", {off_zero({4})}, WICK_FN(linalg::norm(x0, 4)))
      .sample("torch.linalg.norm(x0, 2, dim=1)", {x({3, 4})}, WICK_FN(linalg::norm(x0, 2, {1})));
}

void statistics(Rows& row) {
  row("dist", smooth, kWideFloats)
      .sample("torch.dist(x0, x1)", {x({3, 4}), x({3, 4})}, WICK_FN(dist(x0, x1)))
      .sample("torch.dist(x0, x1, 3)", {x({3, 4}), x({4})}, WICK_FN(dist(x0, x1, 3)));
  row("matrix_exp", smooth, kWideFloats)
      .sample("torch.matrix_exp(x0)", {x({3, 3})}, WICK_FN(matrix_exp(x0)))
      .sample("torch.matrix_exp(x0)", {x({2, 3, 3}, -0.1, 0.1)}, WICK_FN(matrix_exp(x0)))
      .not_captured("how often a matrix is halved depends on its norm");
  row("linalg::matrix_exp", smooth, kWideFloats)
      .sample("torch.linalg.matrix_exp(x0)", {x({2, 2})}, WICK_FN(linalg::matrix_exp(x0)))
      .not_captured("how often a matrix is halved depends on its norm");
  row("cov", smooth, kWideFloats)
      .sample("torch.cov(x0)", {x({3, 5})}, WICK_FN(cov(x0)))
      .sample("torch.cov(x0, correction=0)", {x({5})}, WICK_FN(cov(x0, 0)))
      .sample("torch.cov(x0)", {x({1, 5})}, WICK_FN(cov(x0)));
  row("corrcoef", smooth, kWideFloats)
      .sample("torch.corrcoef(x0)", {x({3, 5})}, WICK_FN(corrcoef(x0)));
}

}  // namespace

std::vector<FunctionRow> linalg_rows() {
  Rows row;
  products(row);
  systems(row);
  decompositions(row);
  norms(row);
  statistics(row);
  return row.all;
}

}  // namespace wick::test
