// SymDim is a dimension that may depend on symbols: a canonical polynomial over symbols and opaque
// atoms (floor division, max), so that equal sizes compare equal however they were computed. The
// dim_* functions of runtime/ops/rule.h are overloaded for it, so that one shape rule serves
// numbers and symbols.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ops/rule.h"

namespace wick {

class SymDim;

// A symbol, or an expression that a polynomial cannot represent. Equal texts mean equal atoms.
struct SymAtom;
using SymAtomRef = std::shared_ptr<const SymAtom>;

// A product of symbols and a number, `coefficient`.
struct SymTerm {
  int64_t coefficient = 0;
  std::vector<SymAtomRef> factors;  // sorted by text, not empty
};

// A size as a polynomial of symbols with integer coefficients.
class SymDim {
 public:
  SymDim(int64_t value = 0) : constant_(value) {}  // NOLINT: numbers are dimensions
  SymDim(const SymDim& d) : constant_(d.constant_), terms_(d.terms_) {
    if (terms_ != nullptr) hold();
  }
  SymDim(SymDim&& d) noexcept : constant_(d.constant_), terms_(std::exchange(d.terms_, nullptr)) {}
  SymDim& operator=(SymDim d) noexcept {
    constant_ = d.constant_;
    std::swap(terms_, d.terms_);
    return *this;
  }
  ~SymDim() {
    if (terms_ != nullptr) drop();
  }

  // Returns a symbol with inclusive bounds. Two symbols of one name in one graph are the same
  // dimension.
  static SymDim symbol(const std::string& name, int64_t min = 1, int64_t max = INT32_MAX);

  bool known() const { return terms_ == nullptr; }  // a number
  int64_t constant() const { return constant_; }    // the value when known()
  // Returns the terms with symbols, sorted by text.
  const std::vector<SymTerm>& terms() const;

  // The bounds are inclusive and saturated to int64.
  int64_t min() const;
  int64_t max() const;

  // Returns the text, "2*batch + 1".
  std::string text() const;
  // Replaces every symbol; throws Error when `lookup` returns a negative number for one.
  int64_t evaluate(const std::function<int64_t(const std::string&)>& lookup) const;
  // Calls visit(name, min, max) for every symbol, atoms' insides included.
  void each_symbol(const std::function<void(const std::string&, int64_t, int64_t)>& visit) const;

  friend SymDim operator+(const SymDim& a, const SymDim& b);
  friend SymDim operator-(const SymDim& a, const SymDim& b);
  friend SymDim operator*(const SymDim& a, const SymDim& b);
  friend bool operator==(const SymDim& a, const SymDim& b);
  friend SymDim dim_floor_div(const SymDim& a, int64_t b);
  friend SymDim dim_max(const SymDim& a, const SymDim& b);
  friend std::optional<SymDim> dim_exact_div(const SymDim& a, const SymDim& b);

 private:
  static SymDim make(int64_t constant, std::vector<SymTerm> terms);
  static SymDim of_atom(SymAtomRef atom);

  // Terms are counted by their own counter: a graph holds eight sizes a value, nearly all of them
  // numbers, so that they should be small.
  struct Terms;
  void hold() const;
  void drop();

  int64_t constant_ = 0;
  Terms* terms_ = nullptr;  // null: a number
};

// A symbol, or a function of sizes that is no polynomial: see its kind.
struct SymAtom {
  // It is a symbol, a floor division or the larger of two.
  enum class Kind { kSymbol, kFloorDiv, kMax } kind;
  std::string text;  // as errors and the graph's text show it
  int64_t min, max;  // the bounds of its value, both included
  SymDim a, b;       // kFloorDiv: a / b (b a number > 0); kMax: max(a, b)
};

// The sizes of a tensor's dims, each a number or an expression.
using SymShape = BasicShape<SymDim>;

// The functions that shape rules are written with, for sizes with symbols.
inline bool dim_known(const SymDim& d) { return d.known(); }
inline int64_t dim_value(const SymDim& d) { return d.constant(); }
Tri dim_equal(const SymDim& a, const SymDim& b);
SymDim dim_floor_div(const SymDim& a, int64_t b);
SymDim dim_max(const SymDim& a, const SymDim& b);
// Returns a / b if b is a product that divides every term of a; else nothing.
std::optional<SymDim> dim_exact_div(const SymDim& a, const SymDim& b);
// Returns an open size, which no expression gives; Graph::infer puts a symbol of the graph in its
// place.
SymDim dim_open(const SymDim&);
// Returns whether dim_open() made it.
bool is_open(const SymDim& d);
// Returns the smaller of two sizes.
inline SymDim dim_min(const SymDim& a, const SymDim& b) { return a + b - dim_max(a, b); }

// Return the shape as "[batch,3]".
ShapeText to_text(const SymShape& shape);
std::string shape_text(const SymShape& shape);

// Returns whether all dims are numbers.
bool is_static(const SymShape& shape);
// All dims must be known.
Shape to_static(const SymShape& shape);
SymShape to_symbolic(const Shape& shape);

// Parses what SymDim::text() wrote. Symbols are looked up by name. Throws Error on anything else.
SymDim parse_dim(const std::string& text, const std::function<SymDim(const std::string&)>& symbol);

}  // namespace wick
