// Eigenvalues and eigenvectors of general real matrices: scaled to balance rows against columns
// (Parlett and Reinsch, 1969), reduced to Hessenberg form by reflections, brought to real Schur
// form by double-shift QR steps (Francis, 1961), whose triangle gives the vectors. One matrix is
// one task, and sums run in the order of the loops; only +, -, *, / and square roots are used.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "trainer/kernels/linalg.h"

namespace wick::dense {
namespace {

constexpr double kRounding = std::numeric_limits<double>::epsilon();

struct Complex {
  double re = 0, im = 0;
};
Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Complex operator*(double a, Complex b) { return {a * b.re, a * b.im}; }
double size_of(Complex a) { return std::fabs(a.re) + std::fabs(a.im); }
// Smith's division, which does not overflow where the quotient does not.
Complex operator/(Complex a, Complex b) {
  if (std::fabs(b.re) >= std::fabs(b.im)) {
    const double r = b.im / b.re, d = b.re + r * b.im;
    return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};
  }
  const double r = b.re / b.im, d = b.im + r * b.re;
  return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};
}

class Schur {
 public:
  Schur(const double* a, int64_t size) : n_(size), h_(a, a + size * size) {
    const auto n = static_cast<size_t>(n_);
    v_.assign(n * n, 0);
    scale_.assign(n, 1);
    value_.assign(n, {});
    for (int64_t i = 0; i < n_; ++i) v(i, i) = 1;
  }
  // Returns whether the iterations converged.
  bool run() {
    balance();
    reduce();
    for (int64_t i = 0; i < n_; ++i) {
      for (int64_t j = std::max<int64_t>(i - 1, 0); j < n_; ++j) norm_ += std::fabs(h(i, j));
    }
    return iterate();
  }
  // Those of a conjugate pair follow one another, the positive imaginary part first.
  Complex value(int64_t i) const { return value_[static_cast<size_t>(i)]; }
  // Writes the vector of value i, which has no negative imaginary part, to x[n]: of norm 1, its
  // largest element (the first of equals) positive.
  void vector(int64_t i, Complex* x) const;

 private:
  double& h(int64_t i, int64_t j) { return h_[static_cast<size_t>(i * n_ + j)]; }
  double& v(int64_t i, int64_t j) { return v_[static_cast<size_t>(i * n_ + j)]; }
  double h(int64_t i, int64_t j) const { return h_[static_cast<size_t>(i * n_ + j)]; }
  double v(int64_t i, int64_t j) const { return v_[static_cast<size_t>(i * n_ + j)]; }

  void balance();
  void reduce();
  bool iterate();
  void split(int64_t low);
  int64_t deflated(int64_t end);
  bool step(int64_t begin, int64_t end, int64_t tries);
  std::vector<Complex> triangular(int64_t i) const;

  int64_t n_;
  std::vector<double> h_, v_, scale_;  // A = D V H V^T D^-1, D the scales
  std::vector<Complex> value_;
  double norm_ = 0;
};

// Multiplies row i by 1 / f and column i by f, powers of 2, while that makes their sums smaller.
void Schur::balance() {
  for (bool again = true; again;) {
    again = false;
    for (int64_t i = 0; i < n_; ++i) {
      double row = 0, column = 0;
      for (int64_t j = 0; j < n_; ++j) {
        if (j == i) continue;
        row += std::fabs(h(i, j));
        column += std::fabs(h(j, i));
      }
      if (row == 0 || column == 0) continue;
      double f = 1, scaled = column;
      const double sum = row + column;
      while (scaled < row / 2) f *= 2, scaled *= 4;
      while (scaled >= row * 2) f /= 2, scaled /= 4;
      if (!((scaled + row) / f < 0.95 * sum)) continue;
      again = true;
      scale_[static_cast<size_t>(i)] *= f;
      for (int64_t j = 0; j < n_; ++j) h(i, j) /= f;
      for (int64_t j = 0; j < n_; ++j) h(j, i) *= f;
    }
  }
}

// Householder reflections from both sides; V becomes their product.
void Schur::reduce() {
  std::vector<double> u(static_cast<size_t>(n_));
  auto at = [&](int64_t i) -> double& { return u[static_cast<size_t>(i)]; };
  for (int64_t c = 0; c + 2 < n_; ++c) {
    double size = 0, square = 0;
    for (int64_t i = c + 1; i < n_; ++i) size += std::fabs(h(i, c));
    double below = 0;
    for (int64_t i = c + 2; i < n_; ++i) below += std::fabs(h(i, c));
    if (below == 0) continue;
    for (int64_t i = c + 1; i < n_; ++i) {
      at(i) = h(i, c) / size;
      square += at(i) * at(i);
    }
    const double length = at(c + 1) > 0 ? -std::sqrt(square) : std::sqrt(square);
    const double half = square - at(c + 1) * length;  // |u|^2 / 2
    at(c + 1) -= length;
    for (int64_t j = c; j < n_; ++j) {
      double dot = 0;
      for (int64_t i = c + 1; i < n_; ++i) dot += at(i) * h(i, j);
      dot /= half;
      for (int64_t i = c + 1; i < n_; ++i) h(i, j) -= dot * at(i);
    }
    auto from_the_right = [&](auto&& row) {
      double dot = 0;
      for (int64_t j = c + 1; j < n_; ++j) dot += row(j) * at(j);
      dot /= half;
      for (int64_t j = c + 1; j < n_; ++j) row(j) -= dot * at(j);
    };
    for (int64_t i = 0; i < n_; ++i) {
      from_the_right([&](int64_t j) -> double& { return h(i, j); });
      from_the_right([&](int64_t j) -> double& { return v(i, j); });
    }
    h(c + 1, c) = size * length;
    for (int64_t i = c + 2; i < n_; ++i) h(i, c) = 0;
  }
}

// Returns the first row of the last block whose subdiagonal has no negligible element.
int64_t Schur::deflated(int64_t end) {
  int64_t begin = end;
  for (; begin > 0; --begin) {
    double size = std::fabs(h(begin - 1, begin - 1)) + std::fabs(h(begin, begin));
    if (size == 0) size = norm_;
    if (std::fabs(h(begin, begin - 1)) < kRounding * size || h(begin, begin - 1) == 0) {
      h(begin, begin - 1) = 0;
      break;
    }
  }
  return begin;
}

// The values of the block of rows low and low + 1; real ones make it a triangle by a rotation.
void Schur::split(int64_t low) {
  const int64_t high = low + 1;
  const double a = h(low, low), b = h(low, high), c = h(high, low), d = h(high, high);
  const double p = (a - d) / 2, q = p * p + b * c;
  Complex *first = &value_[static_cast<size_t>(low)], *second = first + 1;
  if (q < 0) {
    const double root = std::sqrt(-q);
    *first = {d + p, root}, *second = {d + p, -root};
    return;
  }
  const double z = p >= 0 ? p + std::sqrt(q) : p - std::sqrt(q);
  // (z, c) is the vector of d + z.
  double cosine = 1, sine = 0;
  if (z != 0 || c != 0) {
    const double size = std::fabs(z) + std::fabs(c), zs = z / size, cs = c / size;
    const double length = std::sqrt(zs * zs + cs * cs);
    cosine = zs / length, sine = cs / length;
  }
  for (int64_t j = low; j < n_; ++j) {
    const double up = h(low, j), down = h(high, j);
    h(low, j) = cosine * up + sine * down;
    h(high, j) = cosine * down - sine * up;
  }
  auto rotate = [&](double& left, double& right) {
    const double l = left, r = right;
    left = cosine * l + sine * r;
    right = cosine * r - sine * l;
  };
  for (int64_t i = 0; i <= high; ++i) rotate(h(i, low), h(i, high));
  for (int64_t i = 0; i < n_; ++i) rotate(v(i, low), v(i, high));
  h(high, low) = 0;
  *first = {d + z, 0};
  *second = {z != 0 ? d - b * c / z : d, 0};
  h(low, low) = first->re;
  h(high, high) = second->re;
}

// One double-shift step on rows begin .. end, at least three of them.
bool Schur::step(int64_t begin, int64_t end, int64_t tries) {
  double x = h(end, end), y = h(end - 1, end - 1), w = h(end, end - 1) * h(end - 1, end);
  if (tries % 10 == 9) {  // a shift that is no estimate breaks cycles
    const double s = std::fabs(h(end, end - 1)) + std::fabs(h(end - 1, end - 2));
    x = y = h(end, end) + 0.75 * s;
    w = -0.4375 * s * s;
  }
  double p = 0, q = 0, r = 0;
  int64_t from = end - 2;
  for (;; --from) {  // two small subdiagonal elements in a row allow to start there
    const double z = h(from, from), rx = x - z, sy = y - z;
    p = (rx * sy - w) / h(from + 1, from) + h(from, from + 1);
    q = h(from + 1, from + 1) - z - rx - sy;
    r = h(from + 2, from + 1);
    const double size = std::fabs(p) + std::fabs(q) + std::fabs(r);
    p /= size, q /= size, r /= size;
    if (from == begin) break;
    const double beside =
        std::fabs(h(from - 1, from - 1)) + std::fabs(z) + std::fabs(h(from + 1, from + 1));
    if (std::fabs(h(from, from - 1)) * (std::fabs(q) + std::fabs(r)) <
        kRounding * std::fabs(p) * beside) {
      break;
    }
  }
  for (int64_t k = from; k < end; ++k) {
    const bool three = k + 1 < end;
    double size = 1;
    if (k != from) {
      p = h(k, k - 1), q = h(k + 1, k - 1), r = three ? h(k + 2, k - 1) : 0;
      size = std::fabs(p) + std::fabs(q) + std::fabs(r);
      if (size == 0) continue;
      p /= size, q /= size, r /= size;
    }
    if (!three) r = 0;
    const double root = std::sqrt(p * p + q * q + r * r), s = p < 0 ? -root : root;
    if (s == 0) continue;
    if (!std::isfinite(s)) return false;
    if (k != from) {
      h(k, k - 1) = -s * size;
      h(k + 1, k - 1) = 0;
      if (three) h(k + 2, k - 1) = 0;
    } else if (from != begin) {
      h(k, k - 1) = -h(k, k - 1);
    }
    // The reflection I - (x, y, z)^T (1, q, r).
    p += s;
    const double rx = p / s, ry = q / s, rz = r / s;
    q /= p, r /= p;
    for (int64_t j = k; j < n_; ++j) {
      double dot = h(k, j) + q * h(k + 1, j);
      if (three) {
        dot += r * h(k + 2, j);
        h(k + 2, j) -= dot * rz;
      }
      h(k, j) -= dot * rx;
      h(k + 1, j) -= dot * ry;
    }
    auto from_the_right = [&](auto&& row) {
      double dot = rx * row(k) + ry * row(k + 1);
      if (three) {
        dot += rz * row(k + 2);
        row(k + 2) -= dot * r;
      }
      row(k) -= dot;
      row(k + 1) -= dot * q;
    };
    const int64_t last = std::min(end, k + 3);
    for (int64_t i = 0; i <= last; ++i) {
      from_the_right([&](int64_t j) -> double& { return h(i, j); });
    }
    for (int64_t i = 0; i < n_; ++i) {
      from_the_right([&](int64_t j) -> double& { return v(i, j); });
    }
  }
  return true;
}

bool Schur::iterate() {
  constexpr int64_t kMost = 100;  // two or three are usual
  int64_t tries = 0;
  for (int64_t end = n_ - 1; end >= 0;) {
    const int64_t begin = deflated(end);
    if (begin == end) {
      value_[static_cast<size_t>(end)] = {h(end, end), 0};
      end -= 1, tries = 0;
    } else if (begin + 1 == end) {
      split(begin);
      end -= 2, tries = 0;
    } else if (tries == kMost || !step(begin, end, tries++)) {
      return false;
    }
  }
  return true;
}

// Returns y of H y = value(i) y: 1 in the block of the value, 0 below, by substitution upwards.
std::vector<Complex> Schur::triangular(int64_t i) const {
  const Complex of = value(i);
  const double least = std::max(kRounding * norm_, std::numeric_limits<double>::min());
  std::vector<Complex> y(static_cast<size_t>(n_));
  auto at = [&](int64_t k) -> Complex& { return y[static_cast<size_t>(k)]; };
  int64_t end = i;  // the last row with an element
  if (of.im == 0) {
    at(i) = {1, 0};
  } else {  // rows i and i + 1
    end = i + 1;
    const double b = h(i, i + 1), c = h(i + 1, i);
    if (std::fabs(c) >= std::fabs(b)) {
      at(i) = (1 / c) * (of - Complex{h(i + 1, i + 1), 0});
      at(i + 1) = {1, 0};
    } else {
      at(i) = {1, 0};
      at(i + 1) = (1 / b) * (of - Complex{h(i, i), 0});
    }
  }
  auto sum_of = [&](int64_t row, int64_t from) {
    Complex sum;
    for (int64_t k = from; k <= end; ++k) sum = sum + h(row, k) * at(k);
    return sum;
  };
  for (int64_t row = i - 1; row >= 0; --row) {
    if (row == 0 || h(row, row - 1) == 0) {
      Complex pivot = Complex{h(row, row), 0} - of;
      if (size_of(pivot) < least) pivot = {least, 0};
      at(row) = (Complex{} - sum_of(row, row + 1)) / pivot;
    } else {  // a block of two rows: Cramer's rule
      const int64_t up = row - 1;
      const Complex a = Complex{h(up, up), 0} - of, d = Complex{h(row, row), 0} - of;
      const double b = h(up, row), c = h(row, up);
      const Complex first = Complex{} - sum_of(up, row + 1),
                    second = Complex{} - sum_of(row, row + 1);
      Complex det = a * d - Complex{b * c, 0};
      if (size_of(det) < least * least) det = {least * least, 0};
      at(up) = (d * first - b * second) / det;
      at(row) = (a * second - c * first) / det;
      --row;
    }
    double most = size_of(at(row));
    if (row + 1 <= end) most = std::max(most, size_of(at(row + 1)));
    if (most > 0x1p400) {  // near values: only the direction counts
      for (int64_t k = row; k <= end; ++k) at(k) = (1 / most) * at(k);
    }
  }
  return y;
}

void Schur::vector(int64_t i, Complex* x) const {
  const std::vector<Complex> y = triangular(i);
  const int64_t end = value(i).im == 0 ? i : i + 1;
  double most = 0;
  for (int64_t row = 0; row < n_; ++row) {
    Complex sum;
    for (int64_t k = 0; k <= end; ++k) sum = sum + v(row, k) * y[static_cast<size_t>(k)];
    x[row] = scale_[static_cast<size_t>(row)] * sum;
    most = std::max(most, size_of(x[row]));
  }
  if (most == 0) return;
  double square = 0, largest = 0;
  int64_t place = 0;
  for (int64_t row = 0; row < n_; ++row) {
    x[row] = (1 / most) * x[row];
    const double size = x[row].re * x[row].re + x[row].im * x[row].im;
    square += size;
    if (size > largest) largest = size, place = row;
  }
  const double length = std::sqrt(square), root = std::sqrt(largest);
  const Complex turn = {x[place].re / root / length, -x[place].im / root / length};
  for (int64_t row = 0; row < n_; ++row) x[row] = turn * x[row];
  x[place] = {root / length, 0};
}

}  // namespace

int64_t eig(const Problem& p) {
  const int64_t n = p.n;
  double largest = 0;
  for (int64_t i = 0; i < n * n; ++i) {
    if (!std::isfinite(p.in[0][i])) return 1;
    largest = std::max(largest, std::fabs(p.in[0][i]));
  }
  // Near 1, so that no square overflows: by a power of 2, which is exact but for subnormal numbers.
  int exponent = 0;
  if (largest > 0) std::frexp(largest, &exponent);
  std::vector<double> a(static_cast<size_t>(n * n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::ldexp(p.in[0][i], -exponent);
  Schur schur(a.data(), n);
  if (!schur.run()) return 1;
  double *values = p.out[0], *vectors = p.out[1];
  std::vector<Complex> x(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const Complex value = schur.value(i);
    values[2 * i] = std::ldexp(value.re, exponent);
    values[2 * i + 1] = std::ldexp(value.im, exponent);
    const bool conjugate = value.im < 0;  // x is still the one before's
    if (!conjugate) schur.vector(i, x.data());
    for (int64_t row = 0; row < n; ++row) {
      const Complex e = x[static_cast<size_t>(row)];
      vectors[2 * (row * n + i)] = e.re;
      vectors[2 * (row * n + i) + 1] = conjugate ? -e.im : e.im;
    }
  }
  return 0;
}

}  // namespace wick::dense
