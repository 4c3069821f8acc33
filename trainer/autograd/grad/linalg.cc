// Solvers and decompositions. Every formula uses only ops of this section and matmul, so that
// higher orders need no further code. Gradients of symmetric inputs are symmetric where PyTorch's
// are.
#include "trainer/autograd/grad/matrices.h"

namespace wick {
namespace {

using matrices::extent;
using matrices::inverse;
using matrices::mt;
using matrices::on_diagonal;
using matrices::per_matrix;

// Returns a mask [rows, cols], true where col - row <= diagonal.
Tensor lower(int64_t rows, int64_t cols, int64_t diagonal) {
  Tensor r = arange(rows).unsqueeze(1), c = arange(cols).unsqueeze(0);
  return le(c - r, diagonal);
}
Tensor tril(const Tensor& x, int64_t diagonal = 0) {
  return where(lower(extent(x, 2), extent(x, 1), diagonal), x, zero_like(x));
}
Tensor triu(const Tensor& x, int64_t diagonal = 0) {
  return where(lower(extent(x, 2), extent(x, 1), diagonal - 1), zero_like(x), x);
}
// Puts v[..., n] on the diagonal of [..., n, n].
Tensor diag_embed(const Tensor& v) {
  return where(on_diagonal(extent(v, 1)), v.unsqueeze(-1), zero_like(v));
}
Tensor solve(const Tensor& a, const Tensor& b) { return call(OpId::kSolve, NoAttrs{}, {a, b}); }
Tensor triangular(const Tensor& a, const Tensor& b, TriangularAttrs t) {
  return call(OpId::kTriangularSolve, t, {a, b});
}

// Returns w_j - w_i, with 1 on the diagonal.
Tensor gaps(const Tensor& w) {
  Tensor difference = w.unsqueeze(-2) - w.unsqueeze(-1);
  return where(on_diagonal(extent(w, 1)), full({}, 1, w.dtype()), difference);
}

}  // namespace

// With P = the lower triangle of L^T G, its diagonal halved: L^-T (P + P^T) / 2 L^-1.
WICK_GRAD(Cholesky, 0, 1, 0, [](GradCtx& c) {
  Tensor l = c.out(), p = tril(matmul(mt(l), c.g()));
  Tensor s = (p + mt(tril(p, -1))) * 0.5;
  Tensor half = triangular(l, s, {0, 1, 0});
  c.set(0, mt(triangular(l, mt(half), {0, 1, 0})));
});

WICK_GRAD(TriangularSolve, 1, 1, 0, [](GradCtx& c) {
  const auto& t = c.attrs<TriangularAttrs>();
  Tensor x = c.out(), gb = triangular(c.in(0), c.g(), {t.upper, 1 - t.transpose, t.unitriangular});
  c.set(1, gb);
  if (!c.needs(0)) return;
  Tensor ga = -(t.transpose != 0 ? matmul(x, mt(gb)) : matmul(gb, mt(x)));
  c.set(0, t.upper != 0 ? triu(ga, t.unitriangular) : tril(ga, -t.unitriangular));
});

WICK_GRAD(Solve, 1, 1, 0, [](GradCtx& c) {
  Tensor gb = solve(mt(c.in(0)), c.g());
  c.set(1, gb);
  if (c.needs(0)) c.set(0, -matmul(gb, mt(c.out())));
});

WICK_GRAD(Inverse, 0, 1, 0, [](GradCtx& c) {
  Tensor y = mt(c.out());
  c.set(0, -matmul(matmul(y, c.g()), y));
});

// The sign is constant wherever it has a derivative.
WICK_GRAD(SlogDet, 1, 0, 0, [](GradCtx& c) {
  Tensor a = c.in(0);
  if (!c.g(1).defined()) return c.set(0, zeros_like(a));
  c.set(0, per_matrix(c.g(1)) * mt(inverse(a)));
});

// For m >= n, with M = R GR^T - GQ^T Q, and M' its lower triangle mirrored up, the gradient is (GQ
// + Q M') R^-T.
WICK_GRAD(Qr, 0, 3, 0, [](GradCtx& c) {
  Tensor q = c.out(0), r = c.out(1);
  if (extent(q, 1) != extent(r, 1)) {
    throw Error("[qr] a gradient needs m >= n and the reduced form, got Q " +
                    std::string(to_text(q.raw_shape()).text) + ", R " + to_text(r.raw_shape()).text,
                Code::kUnsupported);
  }
  Tensor m = zeros_like(r), gq = c.g(0);
  if (c.g(1).defined()) m = m + matmul(r, mt(c.g(1)));
  if (gq.defined()) m = m - matmul(mt(gq), q);
  Tensor inner = matmul(q, tril(m) + mt(tril(m, -1)));
  if (gq.defined()) inner = gq + inner;
  c.set(0, mt(triangular(r, mt(inner), {1, 0, 0})));
});

// Gradients of U and V are defined only if the singular values differ, and only for functions that
// do not depend on the signs of the vectors.
WICK_GRAD(Svd, 0, 7, 0, [](GradCtx& c) {
  Tensor u = c.out(0), s = c.out(1), v = mt(c.out(2));
  Tensor gu = c.g(0), gs = c.g(1), gv = c.g(2).defined() ? mt(c.g(2)) : Tensor();
  const int64_t k = extent(s, 1);
  if (extent(u, 1) != k || extent(v, 1) != k) {
    if (gu.defined() || gv.defined()) {
      throw Error("[svd] a gradient of U or V needs full_matrices = false", Code::kUnsupported);
    }
    u = u.narrow(-1, 0, k);
    v = v.narrow(-1, 0, k);
  }
  Tensor inner = gs.defined() ? diag_embed(gs) : Tensor(), outside;
  auto add_to = [](Tensor& sum, const Tensor& t) { sum = sum.defined() ? sum + t : t; };
  if (gu.defined() || gv.defined()) {
    Tensor e = gaps(s * s), row = s.unsqueeze(-1), col = s.unsqueeze(-2);
    if (gu.defined()) {
      Tensor w = matmul(mt(u), gu);
      add_to(inner, (w - mt(w)) / e * col);
      if (extent(u, 2) > k) add_to(outside, matmul((gu - matmul(u, w)) / col, mt(v)));
    }
    if (gv.defined()) {
      Tensor w = matmul(mt(v), gv);
      add_to(inner, row * ((w - mt(w)) / e));
      if (extent(v, 2) > k) add_to(outside, matmul(u, mt((gv - matmul(v, w)) / col)));
    }
  }
  Tensor ga = matmul(matmul(u, inner), mt(v));
  c.set(0, outside.defined() ? ga + outside : ga);
});

// Eigenvectors keep their length: the part of the gradient along them is ignored.
WICK_GRAD(Eigh, 0, 3, 0, [](GradCtx& c) {
  Tensor w = c.out(0), v = c.out(1), inner;
  if (c.g(1).defined()) {
    Tensor turn = matmul(mt(v), c.g(1)) / gaps(w);
    inner = where(on_diagonal(extent(w, 1)), zero_like(w), turn);
  }
  if (c.g(0).defined()) {
    Tensor d = diag_embed(c.g(0));
    inner = inner.defined() ? inner + d : d;
  }
  c.set(0, matmul(matmul(v, inner), mt(v)));
});

}  // namespace wick
