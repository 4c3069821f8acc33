// An integer that forward computed from dynamic sizes, found again from what it was at several
// sizes.
#pragma once

#include <optional>
#include <vector>

#include "graph/ir/sym_dim.h"
#include "trainer/capture/free_sizes.h"

namespace wick {

class SizeSolver {
 public:
  // `symbols[i]` is the size that sizes[run][i] is of.
  SizeSolver(const std::vector<SymDim>& symbols, const std::vector<Sizes>& runs);

  // The simplest expression that is values[run] in every run: a number, or with whole numbers a, b
  // and c, b + a * atom or c + a * atom + b * atom, where an atom is a size, a product of sizes, a
  // floor division of one of these, the larger of a size and a number. Two or three runs settle the
  // numbers, the others test them. Nothing where no such expression fits.
  std::optional<SymDim> solve(const std::vector<int64_t>& values) const;
  size_t runs() const { return runs_; }

 private:
  struct Atom {
    SymDim expression;
    std::vector<int64_t> values;  // by run
  };
  std::optional<SymDim> with_one(const std::vector<int64_t>& values, const Atom& atom) const;
  std::optional<SymDim> with_two(const std::vector<int64_t>& values, const Atom& a,
                                 const Atom& b) const;
  std::optional<SymDim> with_bound(const std::vector<int64_t>& values) const;
  void add(const SymDim& expression, std::vector<int64_t> values);

  size_t runs_;
  std::vector<Atom> plain_;    // sizes and their products
  std::vector<Atom> divided_;  // their floor divisions
};

}  // namespace wick
