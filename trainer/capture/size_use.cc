#include "trainer/capture/size_use.h"

#include <algorithm>

#include "wick/error.h"

namespace wick {
namespace {

using detail::SizeCompare;
using detail::SizeOp;

// C++ division truncates.
std::optional<SymDim> quotient(const SymDim& a, const SymDim& b) {
  if (!b.known()) return dim_exact_div(a, b);
  const int64_t n = b.constant();
  if (n == 0) return {};
  if (n < 0) return quotient(SymDim(0) - a, SymDim(-n));
  if (a.min() >= 0) return dim_floor_div(a, n);
  return dim_floor_div(dim_max(a, SymDim(0)), n) -
         dim_floor_div(dim_max(SymDim(0) - a, SymDim(0)), n);
}

std::optional<SymDim> combined(SizeOp op, const SymDim& a, const SymDim& b) {
  switch (op) {
    case SizeOp::kAdd: return a + b;
    case SizeOp::kSub: return a - b;
    case SizeOp::kMul: return a * b;
    case SizeOp::kDiv: return quotient(a, b);
    case SizeOp::kMod: {
      const auto q = quotient(a, b);
      return q ? std::optional(a - *q * b) : std::nullopt;
    }
    case SizeOp::kMax: return dim_max(a, b);
    case SizeOp::kMin: return dim_min(a, b);
    case SizeOp::kRead:
    case SizeOp::kNumber: break;
  }
  return {};
}

bool holds(SizeCompare how, int64_t a, int64_t b) {
  return how == SizeCompare::kEqual ? a == b : how == SizeCompare::kLess ? a < b : a <= b;
}

// Returns sizes worth testing: small ones, those near powers of two and ten, and the bounds.
std::vector<int64_t> candidates(const FreeSize& f, int64_t few) {
  std::vector<int64_t> all = {f.example, f.max, f.max - 1};
  for (int64_t n = 0; n < few; ++n) all.push_back(f.min + n * f.multiple);
  for (int64_t n = 16; n <= f.max && n < (int64_t{1} << 40); n *= 2)
    all.insert(all.end(), {n - 1, n, n + 1, n + n / 2});
  for (int64_t n = 100; n <= f.max && n < (int64_t{1} << 40); n *= 10)
    all.insert(all.end(), {n, n + 1, 5 * n, 5 * n + 1});
  for (int64_t& n : all) n = n / f.multiple * f.multiple;
  std::erase_if(all, [&](int64_t n) { return n < f.min || n > f.max; });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

class Search {
 public:
  Search(const SizeGuard& guard, const std::vector<FreeSize>& free) : guard_(guard), free_(free) {
    for (size_t i = 0; i < free.size(); ++i) {
      bool in = false;
      for (const SymDim* d : {&guard.a, &guard.b}) {
        d->each_symbol(
            [&](const std::string& name, int64_t, int64_t) { in = in || name == free[i].symbol; });
      }
      if (in) involved_.push_back(i);
    }
  }

  std::optional<Sizes> run() {
    Sizes example = example_sizes(free_), least, most;
    for (const FreeSize& f : free_) least.push_back(f.min), most.push_back(f.max);
    look(example);
    std::vector<Sizes> bases = {example, least, most};
    if (!guard_.from.empty()) bases.push_back(guard_.from);
    for (const Sizes& base : bases) {
      for (size_t i : involved_) along(base, i, kMany);
    }
    // Two sizes together: one at each of a few values, the other along its whole range.
    for (size_t i : involved_) {
      for (size_t j : involved_) {
        if (i == j) continue;
        for (int64_t n : candidates(free_[j], kFew)) {
          Sizes base = example;
          base[j] = n;
          along(base, i, kFew);
        }
      }
    }
    return best_;
  }

 private:
  static constexpr int64_t kMany = 300, kFew = 12;

  bool other(const Sizes& at) const {
    return guard_.answer(free_, at) != guard_.yes &&
           std::all_of(guard_.before.begin(), guard_.before.end(),
                       [&](const SizeGuard& g) { return g.answer(free_, at) == g.yes; });
  }
  void look(const Sizes& at) {
    if (!other(at)) return;
    double cost = 1;
    for (size_t i = 0; i < at.size(); ++i) cost *= static_cast<double>(std::max<int64_t>(at[i], 1));
    if (!best_ || cost < cost_) best_ = at, cost_ = cost;
  }
  int64_t difference(const Sizes& at) const {
    return evaluate(guard_.a, free_, at) - evaluate(guard_.b, free_, at);
  }

  // Between two neighbours whose answers, or the signs of whose differences, differ is the first
  // size with the second answer.
  void along(Sizes at, size_t i, int64_t few) {
    const std::vector<int64_t> all = candidates(free_[i], few);
    for (size_t k = 0; k < all.size(); ++k) {
      at[i] = all[k];
      look(at);
      if (k == 0) continue;
      Sizes before = at;
      before[i] = all[k - 1];
      const int64_t x = difference(before), y = difference(at);
      if ((x < 0) != (y < 0) || (x > 0) != (y > 0)) bisect(at, i, all[k - 1], all[k], x);
    }
  }
  void bisect(Sizes at, size_t i, int64_t low, int64_t high, int64_t sign) {
    const int64_t step = free_[i].multiple;
    while (high - low > step) {
      const int64_t middle = low + (high - low) / step / 2 * step;
      at[i] = middle;
      const int64_t d = difference(at);
      ((d < 0) == (sign < 0) && (d > 0) == (sign > 0) ? low : high) = middle;
    }
    for (int64_t n : {low, high, high + step}) {
      at[i] = n;
      if (n >= free_[i].min && n <= free_[i].max) look(at);
    }
  }

  const SizeGuard& guard_;
  const std::vector<FreeSize>& free_;
  std::vector<size_t> involved_;
  std::optional<Sizes> best_;
  double cost_ = 0;
};

}  // namespace

int64_t evaluate(const SymDim& dim, const std::vector<FreeSize>& free, const Sizes& at) {
  return dim.evaluate([&](const std::string& name) {
    for (size_t i = 0; i < free.size(); ++i) {
      if (free[i].symbol == name) return at[i];
    }
    return int64_t{-1};
  });
}

void SizeTerms::extend(const SizeLog& log, int32_t node, const Leaf& leaf) {
  for (size_t i = terms_.size(); i < log.entries().size(); ++i) {
    const SizeLog::Entry& e = log.entries()[i];
    if (e.before > node) return;
    std::optional<SymDim> term;
    if (e.op == SizeOp::kNumber) {
      term = SymDim(e.number);
    } else if (e.op == SizeOp::kRead) {
      term = leaf(e);
    } else {
      const auto &a = terms_[static_cast<size_t>(e.a)], &b = terms_[static_cast<size_t>(e.b)];
      try {
        if (a && b) term = combined(e.op, *a, *b);
      } catch (const Error&) {
        term.reset();  // the expression is too long
      }
    }
    terms_.push_back(std::move(term));
  }
}

bool SizeGuard::answer(const std::vector<FreeSize>& free, const Sizes& at) const {
  return holds(how, evaluate(a, free, at), evaluate(b, free, at));
}

std::string SizeGuard::text() const {
  const char* sign = how == SizeCompare::kEqual  ? " == "
                     : how == SizeCompare::kLess ? " < "
                                                 : " <= ";
  return a.text() + sign + b.text();
}

std::optional<Sizes> other_way(const SizeGuard& guard, const std::vector<FreeSize>& free) {
  return Search(guard, free).run();
}

}  // namespace wick
