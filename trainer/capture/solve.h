// An integer that forward computed from dynamic sizes, found again from what it was at several
// sizes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/sym_dim.h"
#include "trainer/capture/free_sizes.h"

namespace wick {

class SizeSolver {
 public:
  // `symbols[i]` is the size that sizes[run][i] is of.
  SizeSolver(const std::vector<SymDim>& symbols, const std::vector<Sizes>& runs);

  // The expression that is values[run] in every run: a number, a size, what forward was seen to
  // compute, else the simplest that fits: with whole numbers a, b
  // and c, b + a * atom or c + a * atom + b * atom, where an atom is a size, a dim of a value, a
  // product of these, a floor division of sizes, the larger of a size and a number; a fraction of a
  // size. Two or three
  // runs settle the numbers, the others test them. Nothing where no such expression fits.
  std::optional<SymDim> solve(const std::vector<int64_t>& values) const;
  // What forward computed of sizes, and what that is in each run.
  void tell(const SymDim& size, std::vector<int64_t> values);
  // What a value of the graph has as a dim, in each run: forward may have read it.
  void learn(const SymDim& dim, std::vector<int64_t> values);

  // The sizes, and what forward computed of them, each with what it is in every run.
  std::vector<std::pair<SymDim, std::vector<int64_t>>> sizes() const;

  // The sizes in expressions that were found, not computed by forward, and are more than a number
  // times a size or a dim and a number: floor divisions, bounds, products. Few runs tell such an
  // expression from others of its kind.
  const std::set<std::string>& doubtful() const { return doubtful_; }

 private:
  struct Atom {
    SymDim expression;
    std::vector<int64_t> values;  // by run
    bool even = false;            // a floor division without an offset
  };
  std::optional<SymDim> with_one(const std::vector<int64_t>& values, const Atom& atom) const;
  std::optional<SymDim> with_two(const std::vector<int64_t>& values, const Atom& a,
                                 const Atom& b) const;
  std::optional<SymDim> with_bound(const std::vector<int64_t>& values) const;
  std::optional<SymDim> with_product(const std::vector<int64_t>& values) const;
  // *settled: the numbers in it are those of a sum of one size, which two runs tell.
  std::optional<SymDim> find(const std::vector<int64_t>& values, bool* settled) const;

  size_t runs_;
  std::vector<Atom> plain_;    // sizes and their products
  std::vector<Atom> divided_;  // their floor divisions
  std::vector<Atom> parts_;    // fractions of sizes, rounded down: 3 / 4 of one
  std::vector<Atom> learnt_;   // other dims of values
  std::vector<Atom> told_;     // what forward computed
  mutable std::set<std::string> doubtful_;
};

}  // namespace wick
