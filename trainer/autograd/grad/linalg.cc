// Solvers and decompositions. Every formula uses only ops of this section and matmul, so that
// higher orders need no further code. Gradients of symmetric inputs are symmetric where PyTorch's
// are.
#include <algorithm>

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

// With M = R GR^T - GQ^T Q, and M' its lower triangle mirrored up, the gradient of A = Q R is (GQ +
// Q M') R^-T, where R is square.
static Tensor qr_gradient(const Tensor& q, const Tensor& r, const Tensor& gq, const Tensor& gr) {
  Tensor m = zeros_like(r);
  if (gr.defined()) m = m + matmul(r, mt(gr));
  if (gq.defined()) m = m - matmul(mt(gq), q);
  Tensor inner = matmul(q, tril(m) + mt(tril(m, -1)));
  if (gq.defined()) inner = gq + inner;
  return mt(triangular(r, mt(inner), {1, 0, 0}));
}

WICK_GRAD(Qr, 0, 3, 0, [](GradCtx& c) {
  Tensor q = c.out(0), r = c.out(1), gq = c.g(0), gr = c.g(1);
  const int64_t k = extent(q, 1), n = extent(r, 1);
  if (k > n) {
    throw Error("[qr] a gradient needs the reduced form where m > n, got Q " +
                    std::string(to_text(q.raw_shape()).text) + ", R " + to_text(r.raw_shape()).text,
                Code::kUnsupported);
  }
  if (k == n) return c.set(0, qr_gradient(q, r, gq, gr));
  // A = [X Y]: X = Q R1 is square, and R2 = Q^T Y.
  if (!gr.defined()) gr = zeros_like(r);
  const Tensor r1 = r.narrow(-1, 0, k), r2 = r.narrow(-1, k, n - k), gr2 = gr.narrow(-1, k, n - k);
  const Tensor through = matmul(matmul(q, r2), mt(gr2));
  gq = gq.defined() ? gq + through : through;
  c.set(0, cat({qr_gradient(q, r1, gq, gr.narrow(-1, 0, k)), matmul(q, gr2)}, -1));
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

// With P^T A = L U of k = min(m, n) columns and rows, and Phi = the lower triangle of L^T GL plus
// the upper one of GU U^T, of the square blocks: L^-T Phi U^-T. What is beside U's block reaches
// L's, what is below L's reaches U's.
WICK_GRAD(LuFactor, 0, 5, 0, [](GradCtx& c) {
  const Tensor lu = c.out(0), g = c.g(0);
  if (!g.defined() || lu.layout().numel() == 0) return c.set(0, zeros_like(lu));
  const int64_t m = extent(lu, 2), n = extent(lu, 1), k = std::min(m, n);
  const Tensor square = lu.narrow(-2, 0, k).narrow(-1, 0, k),
               gs = g.narrow(-2, 0, k).narrow(-1, 0, k);
  const Tensor unit = where(on_diagonal(k), full({}, 1, lu.dtype()), tril(square, -1));
  Tensor low = matmul(mt(unit), tril(gs, -1)), high = matmul(triu(gs), mt(triu(square)));
  Tensor beside, below;  // the gradients of the other blocks of P^T A
  if (n > k) {
    const Tensor u = lu.narrow(-1, k, n - k), gu = g.narrow(-1, k, n - k);
    low = low - matmul(gu, mt(u));
    beside = triangular(square, gu, {0, 1, 1});
  }
  if (m > k) {
    const Tensor l = lu.narrow(-2, k, m - k), gl = g.narrow(-2, k, m - k);
    high = high - matmul(mt(l), gl);
    below = mt(triangular(square, mt(gl), {1, 0, 0}));
  }
  const Tensor inner = triangular(square, tril(low, -1) + triu(high), {0, 1, 1});
  Tensor all = mt(triangular(square, mt(inner), {1, 0, 0}));
  if (beside.defined()) all = cat({all, beside}, -1);
  if (below.defined()) all = cat({all, below}, -2);
  const Tensor back = argsort(c.out(2)).unsqueeze(-1).expand(all.raw_shape());
  c.set(0, gather(all, -2, back));
});

namespace {

// Complex matrices as their real and imaginary parts.
struct ComplexPair {
  Tensor re, im;
};
ComplexPair pair_of(const Tensor& t) { return {t.select(-1, 0), t.select(-1, 1)}; }
ComplexPair adjoint_of(const ComplexPair& a) { return {mt(a.re), -mt(a.im)}; }
ComplexPair product(const ComplexPair& a, const ComplexPair& b) {
  return {matmul(a.re, b.re) - matmul(a.im, b.im), matmul(a.re, b.im) + matmul(a.im, b.re)};
}
// Returns the real part of A^-1 B, by a system of twice the size.
Tensor real_solution(const ComplexPair& a, const ComplexPair& b) {
  const Tensor left = cat({cat({a.re, -a.im}, -1), cat({a.im, a.re}, -1)}, -2);
  return solve(left, cat({b.re, b.im}, -2)).narrow(-2, 0, extent(b.re, 2));
}

}  // namespace

// V^-H R V^H, where R has the values' gradients on its diagonal, and beside it (V^H GV - V^H V D) /
// E: D is the real diagonal of V^H GV (vectors keep their length), E_ij = conj(w_j - w_i). What a
// function makes of the vectors' phases is ignored.
WICK_GRAD(Eig, 0, 3, 0, [](GradCtx& c) {
  const ComplexPair w = pair_of(c.out(0)), v = pair_of(c.out(1)), adjoint = adjoint_of(v);
  if (v.re.layout().numel() == 0) return c.set(0, zeros_like(v.re));
  const Tensor diagonal = on_diagonal(extent(w.re, 1));
  ComplexPair r;
  if (c.g(1).defined()) {
    const ComplexPair turn = product(adjoint, pair_of(c.g(1))), metric = product(adjoint, v);
    const Tensor zero = zero_like(turn.re);
    const Tensor d = sum(where(diagonal, turn.re, zero), {-2}, true);
    const ComplexPair off = {turn.re - metric.re * d, turn.im - metric.im * d};
    // (a + b i) / (x - y i) = (a + b i) (x + y i) / (x^2 + y^2)
    const Tensor x = gaps(w.re), y = where(diagonal, zero, w.im.unsqueeze(-2) - w.im.unsqueeze(-1));
    const Tensor size = x * x + y * y;
    r = {where(diagonal, zero, (off.re * x - off.im * y) / size),
         where(diagonal, zero, (off.re * y + off.im * x) / size)};
  }
  if (c.g(0).defined()) {
    const ComplexPair g = pair_of(c.g(0));
    const ComplexPair on = {diag_embed(g.re), diag_embed(g.im)};
    r = r.re.defined() ? ComplexPair{r.re + on.re, r.im + on.im} : on;
  }
  c.set(0, real_solution(adjoint, product(r, adjoint)));
});

}  // namespace wick
