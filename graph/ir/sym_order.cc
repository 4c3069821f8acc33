#include "graph/ir/sym_order.h"

#include <algorithm>

namespace wick {
namespace {

constexpr int kMaxSteps = 3;                           // atoms replaced one inside another
constexpr size_t kMaxOrderTerms = 8;                   // the most of an expression that is tried
constexpr int64_t kMaxCoefficient = int64_t{1} << 24;  // products of two must not wrap

bool same_factors(const SymTerm& a, const SymTerm& b) {
  return std::equal(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
                    [](const SymAtomRef& x, const SymAtomRef& y) {
                      return x->kind == y->kind && x->text == y->text;
                    });
}

// Sum is a sum of terms that can be added to.
struct Sum {
  int64_t constant = 0;
  std::vector<SymTerm> terms = {};

  void add(int64_t times, const SymDim& d) {
    constant += times * d.constant();
    for (const SymTerm& t : d.terms()) add(times * t.coefficient, t);
  }
  void add(int64_t coefficient, const SymTerm& like) {
    auto at = std::find_if(terms.begin(), terms.end(),
                           [&](const SymTerm& t) { return same_factors(t, like); });
    if (at == terms.end()) {
      terms.push_back({coefficient, like.factors});
    } else if ((at->coefficient += coefficient) == 0) {
      terms.erase(at);
    }
  }
  bool small() const {
    const auto fits = [](int64_t v) { return v <= kMaxCoefficient && v >= -kMaxCoefficient; };
    return terms.size() <= kMaxOrderTerms && fits(constant) &&
           std::all_of(terms.begin(), terms.end(),
                       [&](const SymTerm& t) { return fits(t.coefficient); });
  }
  // Returns an upper bound, from each term by itself.
  long double most() const {
    long double sum = static_cast<long double>(constant);
    for (const SymTerm& t : terms) {
      long double lo = 1, hi = 1;
      for (const SymAtomRef& f : t.factors) {
        const long double p[] = {lo * f->min, lo * f->max, hi * f->min, hi * f->max};
        lo = *std::min_element(p, p + 4);
        hi = *std::max_element(p, p + 4);
      }
      sum += static_cast<long double>(t.coefficient) * (t.coefficient < 0 ? lo : hi);
    }
    return sum;
  }
};

bool opened(const SymDim& d, Sum* sum) {
  if (d.terms().size() > kMaxOrderTerms) return false;
  Sum whole;
  whole.constant = d.constant();
  whole.terms = d.terms();
  if (!whole.small()) return false;
  *sum = std::move(whole);
  return true;
}

bool bounded(const Sum& d, int steps);

// Tries the bound with the atom of term i replaced by something that is no less (if its coefficient
// is positive; else no more).
bool bounded_without(const Sum& d, size_t i, int steps) {
  const SymAtom& atom = *d.terms[i].factors[0];
  const int64_t c = d.terms[i].coefficient;
  Sum a, b;
  if (!opened(atom.a, &a) || !opened(atom.b, &b)) return false;
  Sum rest = d;
  rest.terms.erase(rest.terms.begin() + static_cast<long>(i));
  if (atom.kind == SymAtom::Kind::kFloorDiv) {
    const int64_t by = b.constant;
    rest.constant *= by;
    for (SymTerm& t : rest.terms) t.coefficient *= by;
    rest.add(c, atom.a);
    if (c < 0) rest.constant -= c * (by - 1);
    return bounded(rest, steps);
  }
  Sum other = rest;
  rest.add(c, atom.a);
  other.add(c, atom.b);
  // If the maximum is added, both cases must hold; if it is subtracted, one suffices, since it is
  // at least each.
  return c > 0 ? bounded(rest, steps) && bounded(other, steps)
               : bounded(rest, steps) || bounded(other, steps);
}

bool bounded(const Sum& d, int steps) {
  if (!d.small()) return false;
  if (d.most() <= 0) return true;
  for (size_t i = 0; steps > 0 && i < d.terms.size(); ++i) {
    const SymTerm& t = d.terms[i];
    if (t.factors.size() == 1 && t.factors[0]->kind != SymAtom::Kind::kSymbol &&
        bounded_without(d, i, steps - 1)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool never_positive(const SymDim& d) {
  Sum sum;
  return opened(d, &sum) && bounded(sum, kMaxSteps);
}

}  // namespace wick
