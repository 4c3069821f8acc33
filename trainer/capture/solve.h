// SizeSolver: finds the expression of an integer that forward computed from dynamic sizes, given
// its values at several sizes.
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
  // sizes[run][i] is the size of `symbols[i]`.
  SizeSolver(const std::vector<SymDim>& symbols, const std::vector<Sizes>& runs);

  // Returns an expression that equals values[run] in every run: a number, a size, an expression
  // that forward was seen to compute, or else the simplest that fits: with integers a, b and c, b +
  // a * atom or c + a * atom + b * atom, where an atom is a size, a dim of a value, a product of
  // these, a floor division of sizes, or the larger of a size and a number; or a fraction of a
  // size. Two or three runs determine the numbers, the others test them. Empty if no such
  // expression fits.
  std::optional<SymDim> solve(const std::vector<int64_t>& values) const;
  // Adds an expression that forward computed from sizes, and its value in each run.
  void tell(const SymDim& size, std::vector<int64_t> values);
  // Adds a dim of a value of the graph, with its size in each run: forward may have read it.
  void learn(const SymDim& dim, std::vector<int64_t> values);

  // Returns the sizes and the expressions that forward computed from them, each with its value in
  // every run.
  std::vector<std::pair<SymDim, std::vector<int64_t>>> sizes() const;

  // The symbols in expressions that were found, not computed by forward, and that are more complex
  // than a multiple of a size or dim plus a number: floor divisions, bounds, products. Few runs do
  // not distinguish such an expression from others of its kind.
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
  // Sets *settled to whether the numbers in it are those of a sum of one size, which two runs
  // determine.
  std::optional<SymDim> find(const std::vector<int64_t>& values, bool* settled) const;

  size_t runs_;
  std::vector<Atom> plain_;    // sizes and their products
  std::vector<Atom> divided_;  // their floor divisions
  std::vector<Atom> parts_;    // fractions of sizes, rounded down: 3 / 4 of a size
  std::vector<Atom> learnt_;   // other dims of values
  std::vector<Atom> told_;     // expressions that forward computed
  mutable std::set<std::string> doubtful_;
};

}  // namespace wick
