#include "trainer/capture/solve.h"

#include <algorithm>
#include <numeric>

namespace wick {
namespace {

constexpr int64_t kDivisors[] = {2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 32, 64};
constexpr int64_t kMostOffsets = 8;  // below this divisor every offset is tried

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Values and factors beyond these are coincidences; what is computed from them fits 64 bits.
constexpr int64_t kLargest = int64_t{1} << 40, kLargestFactor = int64_t{1} << 20,
                  kLargestOfTwo = int64_t{1} << 29;

bool within(const std::vector<int64_t>& values, int64_t most) {
  return std::all_of(values.begin(), values.end(),
                     [&](int64_t v) { return v <= most && v >= -most; });
}

// Returns false if a product exceeds kLargest.
bool times(std::vector<int64_t>* values, const std::vector<int64_t>& by) {
  for (size_t r = 0; r < values->size(); ++r)
    if (__builtin_mul_overflow((*values)[r], by[r], &(*values)[r])) return false;
  return within(*values, kLargest);
}

}  // namespace

SizeSolver::SizeSolver(const std::vector<SymDim>& symbols, const std::vector<Sizes>& runs)
    : runs_(runs.size()) {
  auto values_of = [&](size_t symbol) {
    std::vector<int64_t> values;
    for (const Sizes& sizes : runs) values.push_back(sizes[symbol]);
    return values;
  };
  for (size_t i = 0; i < symbols.size(); ++i) plain_.push_back({symbols[i], values_of(i), false});
  // Products of two sizes, then of three.
  size_t first = 0;
  for (int factors = 2; factors <= 3; ++factors) {
    const size_t end = plain_.size();
    for (size_t at = first; at < end; ++at) {
      for (size_t i = 0; i < symbols.size(); ++i) {
        Atom p{plain_[at].expression * symbols[i], plain_[at].values, false};
        if (!times(&p.values, values_of(i))) continue;
        const bool known = std::any_of(plain_.begin(), plain_.end(),
                                       [&](const Atom& q) { return q.expression == p.expression; });
        if (!known) plain_.push_back(std::move(p));
      }
    }
    first = end;
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    for (int64_t q : {3, 4, 5, 6, 8, 10, 16, 20, 100}) {
      for (int64_t p = 2; p < q; ++p) {
        if (std::gcd(p, q) != 1) continue;
        Atom a{dim_floor_div(plain_[i].expression * SymDim(p), q), plain_[i].values, false};
        for (int64_t& v : a.values) v = floor_div(v * p, q);
        parts_.push_back(std::move(a));
      }
    }
  }
  for (const Atom& a : plain_) {
    for (int64_t k : kDivisors) {
      for (int64_t offset = 0; offset < k; ++offset) {
        if (k > kMostOffsets && offset != 0 && offset != k - 1 && offset != k / 2) continue;
        Atom d{dim_floor_div(a.expression + SymDim(offset), k), a.values, false};
        for (int64_t& v : d.values) v = floor_div(v + offset, k);
        d.even = offset == 0;
        divided_.push_back(std::move(d));
      }
    }
  }
}

std::optional<SymDim> SizeSolver::with_one(const std::vector<int64_t>& values,
                                           const Atom& atom) const {
  const std::vector<int64_t>& x = atom.values;
  size_t other = 0;
  while (other < runs_ && x[other] == x[0]) ++other;
  if (other == runs_) return {};
  const int64_t rise = values[other] - values[0], run = x[other] - x[0];
  if (rise % run != 0) return {};
  const int64_t a = rise / run;
  if (a > kLargestFactor || a < -kLargestFactor) return {};
  const int64_t b = values[0] - a * x[0];
  for (size_t r = 0; r < runs_; ++r) {
    if (a * x[r] + b != values[r]) return {};
  }
  return atom.expression * SymDim(a) + SymDim(b);
}

std::optional<SymDim> SizeSolver::with_two(const std::vector<int64_t>& values, const Atom& a,
                                           const Atom& b) const {
  for (const auto* all : {&values, &a.values, &b.values}) {
    if (!within(*all, kLargestOfTwo)) return {};
  }
  for (size_t i = 1; i < runs_; ++i) {
    for (size_t j = i + 1; j < runs_; ++j) {
      const int64_t ai = a.values[i] - a.values[0], aj = a.values[j] - a.values[0],
                    bi = b.values[i] - b.values[0], bj = b.values[j] - b.values[0],
                    vi = values[i] - values[0], vj = values[j] - values[0];
      const int64_t det = ai * bj - aj * bi;
      if (det == 0) continue;
      const int64_t p = vi * bj - vj * bi, q = ai * vj - aj * vi;
      if (p % det != 0 || q % det != 0) return {};
      const int64_t ca = p / det, cb = q / det;
      if (!within({ca, cb}, kLargestFactor)) return {};
      const int64_t c = values[0] - ca * a.values[0] - cb * b.values[0];
      for (size_t r = 0; r < runs_; ++r) {
        if (ca * a.values[r] + cb * b.values[r] + c != values[r]) return {};
      }
      return a.expression * SymDim(ca) + b.expression * SymDim(cb) + SymDim(c);
    }
  }
  return {};
}

void SizeSolver::learn(const SymDim& dim, std::vector<int64_t> values) {
  constexpr size_t kMost = 24;
  if (dim.known() || learnt_.size() >= kMost || !within(values, kLargest)) return;
  for (const auto* atoms : {&plain_, &learnt_}) {
    for (const Atom& a : *atoms) {
      if (a.expression == dim) return;
    }
  }
  learnt_.push_back({dim, std::move(values), false});
}

std::vector<std::pair<SymDim, std::vector<int64_t>>> SizeSolver::sizes() const {
  std::vector<std::pair<SymDim, std::vector<int64_t>>> all;
  for (const auto* atoms : {&plain_, &told_}) {
    for (const Atom& a : *atoms) all.emplace_back(a.expression, a.values);
  }
  return all;
}

void SizeSolver::tell(const SymDim& size, std::vector<int64_t> values) {
  const bool known =
      std::any_of(told_.begin(), told_.end(), [&](const Atom& a) { return a.expression == size; });
  if (!known) told_.push_back({size, std::move(values), false});
}

std::optional<SymDim> SizeSolver::with_product(const std::vector<int64_t>& values) const {
  auto product = [&](const Atom& a, const Atom& b) -> std::optional<SymDim> {
    Atom p{a.expression * b.expression, a.values, false};
    return times(&p.values, b.values) ? with_one(values, p) : std::nullopt;
  };
  for (size_t i = 0; i < learnt_.size(); ++i) {
    for (size_t j = i; j < learnt_.size(); ++j) {
      if (auto e = product(learnt_[i], learnt_[j])) return e;
    }
    for (const Atom& a : plain_) {
      if (auto e = product(a, learnt_[i])) return e;
    }
  }
  for (const Atom& a : plain_) {
    for (const Atom& d : divided_) {
      if (auto e = product(a, d)) return e;
    }
  }
  // A size (a batch) times two dims of a value.
  for (const Atom& s : plain_) {
    for (size_t i = 0; i < learnt_.size(); ++i) {
      for (size_t j = i + 1; j < learnt_.size(); ++j) {
        Atom p{s.expression * learnt_[i].expression, s.values, false};
        if (!times(&p.values, learnt_[i].values)) continue;
        if (auto e = product(p, learnt_[j])) return e;
      }
    }
  }
  return {};
}

// max(size + a, b) and min(size + a, b): a is determined by the run with the largest or the
// smallest size, b by the other.
std::optional<SymDim> SizeSolver::with_bound(const std::vector<int64_t>& values) const {
  for (const Atom& of : plain_) {
    for (int64_t sign : {1, -1}) {
      Atom atom{of.expression * SymDim(sign), of.values, false};
      for (int64_t& v : atom.values) v *= sign;
      const auto ends = std::minmax_element(atom.values.begin(), atom.values.end());
      const auto small = static_cast<size_t>(ends.first - atom.values.begin()),
                 large = static_cast<size_t>(ends.second - atom.values.begin());
      for (bool above : {true, false}) {
        const size_t free = above ? large : small, held = above ? small : large;
        const int64_t a = values[free] - atom.values[free], b = values[held];
        size_t bound = 0, moving = 0;
        bool fits = true;
        for (size_t r = 0; r < runs_ && fits; ++r) {
          const int64_t v = atom.values[r] + a;
          fits = values[r] == (above ? std::max(v, b) : std::min(v, b));
          (values[r] == b ? bound : moving) += 1;
        }
        if (!fits || bound == 0 || moving == 0) continue;
        const SymDim moved = atom.expression + SymDim(a);
        return above ? dim_max(moved, SymDim(b)) : dim_min(moved, SymDim(b));
      }
    }
  }
  return {};
}

std::optional<SymDim> SizeSolver::solve(const std::vector<int64_t>& values) const {
  for (const auto* atoms : {&plain_, &told_}) {
    for (const Atom& a : *atoms) {
      if (a.values == values && a.values != std::vector<int64_t>(runs_, values[0]))
        return a.expression;
    }
  }
  bool settled = true;
  auto e = find(values, &settled);
  if (!e || settled) return e;
  e->each_symbol([&](const std::string& name, int64_t, int64_t) { doubtful_.insert(name); });
  return e;
}

std::optional<SymDim> SizeSolver::find(const std::vector<int64_t>& values, bool* settled) const {
  if (std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; }))
    return SymDim(values[0]);
  if (!within(values, kLargest)) return {};
  for (const Atom& a : plain_) {
    if (auto e = with_one(values, a)) return e;
  }
  for (const Atom& a : learnt_) {
    if (auto e = with_one(values, a)) return e;
  }
  // Beyond sizes, dims of values and sums of them, many expressions fit.
  *settled = false;
  for (const Atom& a : divided_) {
    if (auto e = with_one(values, a)) return e;
  }
  if (auto e = with_bound(values)) return e;
  for (const Atom& a : parts_) {
    for (int64_t more : {0, 1}) {
      for (int64_t least : {0, 1}) {  // t * 3 / 4, at least one
        bool same = true;
        for (size_t r = 0; r < runs_ && same; ++r)
          same = values[r] == std::max(a.values[r] + more, least);
        if (same) return dim_max(a.expression + SymDim(more), SymDim(least));
      }
    }
  }
  if (auto e = with_product(values)) return e;
  // More unknown numbers need more runs to test them.
  if (runs_ < 5) return {};
  for (size_t i = 0; i < plain_.size(); ++i) {
    for (size_t j = i + 1; j < plain_.size(); ++j) {
      if (auto e = with_two(values, plain_[i], plain_[j])) return e;
    }
    for (const Atom& d : divided_) {
      if (auto e = with_two(values, plain_[i], d)) return e;
    }
  }
  for (size_t i = 0; i < divided_.size(); ++i) {
    for (size_t j = i + 1; j < divided_.size(); ++j) {
      if (!divided_[i].even || !divided_[j].even) continue;
      if (auto e = with_two(values, divided_[i], divided_[j])) return e;
    }
  }
  return {};
}

}  // namespace wick
