#include "graph/ir/sym_dim.h"

#include <algorithm>
#include <atomic>
#include <cctype>

#include "graph/ir/sym_order.h"
#include "runtime/core/real_text.h"
#include "wick/error.h"

namespace wick {
namespace {

// A hostile file can square a dimension at every node; past these limits a size is not a real
// shape's.
constexpr size_t kMaxTerms = 64, kMaxDegree = 16, kMaxText = 2048;

int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t saturate(__int128 v) {
  if (v > INT64_MAX) return INT64_MAX;
  if (v < INT64_MIN) return INT64_MIN;
  return static_cast<int64_t>(v);
}

struct Range {
  int64_t min, max;
};
Range times(Range a, Range b) {
  __int128 p[4] = {static_cast<__int128>(a.min) * b.min, static_cast<__int128>(a.min) * b.max,
                   static_cast<__int128>(a.max) * b.min, static_cast<__int128>(a.max) * b.max};
  return {saturate(*std::min_element(p, p + 4)), saturate(*std::max_element(p, p + 4))};
}
Range range_of(const SymDim& d) {
  __int128 lo = d.constant(), hi = d.constant();
  for (const SymTerm& t : d.terms()) {
    Range r{t.coefficient, t.coefficient};
    for (const SymAtomRef& f : t.factors) r = times(r, {f->min, f->max});
    lo += r.min;
    hi += r.max;
  }
  return {saturate(lo), saturate(hi)};
}

bool factors_less(const std::vector<SymAtomRef>& a, const std::vector<SymAtomRef>& b) {
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const SymAtomRef& x, const SymAtomRef& y) { return x->text < y->text; });
}
bool factors_equal(const std::vector<SymAtomRef>& a, const std::vector<SymAtomRef>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const SymAtomRef& x, const SymAtomRef& y) {
                      // A file may name a dimension "max(a,b)".
                      return x->kind == y->kind && x->text == y->text;
                    });
}

}  // namespace

struct SymDim::Terms {
  std::vector<SymTerm> list;
  std::atomic<int> holders{1};
};

void SymDim::hold() const { terms_->holders.fetch_add(1, std::memory_order_relaxed); }
void SymDim::drop() {
  if (terms_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete terms_;
}

const std::vector<SymTerm>& SymDim::terms() const {
  static const std::vector<SymTerm> kNone;
  return terms_ == nullptr ? kNone : terms_->list;
}

SymDim SymDim::make(int64_t constant, std::vector<SymTerm> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const SymTerm& a, const SymTerm& b) { return factors_less(a.factors, b.factors); });
  std::vector<SymTerm> merged;
  for (SymTerm& t : terms) {
    if (!merged.empty() && factors_equal(merged.back().factors, t.factors)) {
      merged.back().coefficient = wrap_add(merged.back().coefficient, t.coefficient);
    } else {
      merged.push_back(std::move(t));
    }
  }
  std::erase_if(merged, [](const SymTerm& t) { return t.coefficient == 0; });
  if (merged.size() > kMaxTerms)
    throw Error("a symbolic dimension has more than 64 terms", Code::kBudgetExceeded);
  SymDim d(constant);
  if (!merged.empty()) d.terms_ = new Terms{std::move(merged)};
  return d;
}

SymDim SymDim::of_atom(SymAtomRef atom) {
  if (atom->text.size() > kMaxText)
    throw Error("a symbolic dimension is too long to write down", Code::kBudgetExceeded);
  return make(0, {{1, {std::move(atom)}}});
}

SymDim SymDim::symbol(const std::string& name, int64_t min, int64_t max) {
  return of_atom(std::make_shared<const SymAtom>(
      SymAtom{SymAtom::Kind::kSymbol, name, min, max, SymDim(), SymDim()}));
}

SymDim dim_open(const SymDim&) { return SymDim::symbol("?", 0, INT32_MAX); }
bool is_open(const SymDim& d) {
  bool open = false;
  d.each_symbol([&](const std::string& name, int64_t, int64_t) { open = open || name[0] == '?'; });
  return open;
}

int64_t SymDim::min() const { return range_of(*this).min; }
int64_t SymDim::max() const { return range_of(*this).max; }

SymDim operator+(const SymDim& a, const SymDim& b) {
  if (a.known() && b.known()) return SymDim(wrap_add(a.constant_, b.constant_));
  std::vector<SymTerm> terms = a.terms();
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return SymDim::make(wrap_add(a.constant_, b.constant_), std::move(terms));
}

SymDim operator-(const SymDim& a, const SymDim& b) { return a + SymDim(-1) * b; }

SymDim operator*(const SymDim& a, const SymDim& b) {
  if (a.known() && b.known()) return SymDim(wrap_mul(a.constant_, b.constant_));
  if (a.terms().size() * b.terms().size() > kMaxTerms * 4) {
    throw Error("a symbolic dimension has more than 64 terms", Code::kBudgetExceeded);
  }
  std::vector<SymTerm> terms;
  for (const SymTerm& t : a.terms())
    terms.push_back({wrap_mul(t.coefficient, b.constant_), t.factors});
  for (const SymTerm& t : b.terms())
    terms.push_back({wrap_mul(t.coefficient, a.constant_), t.factors});
  for (const SymTerm& x : a.terms()) {
    for (const SymTerm& y : b.terms()) {
      SymTerm t{wrap_mul(x.coefficient, y.coefficient), x.factors};
      t.factors.insert(t.factors.end(), y.factors.begin(), y.factors.end());
      if (t.factors.size() > kMaxDegree)
        throw Error("a symbolic dimension has degree over 16", Code::kBudgetExceeded);
      std::sort(t.factors.begin(), t.factors.end(),
                [](const SymAtomRef& p, const SymAtomRef& q) { return p->text < q->text; });
      terms.push_back(std::move(t));
    }
  }
  return SymDim::make(wrap_mul(a.constant_, b.constant_), std::move(terms));
}

bool operator==(const SymDim& a, const SymDim& b) {
  if (a.constant_ != b.constant_ || a.terms().size() != b.terms().size()) return false;
  for (size_t i = 0; i < a.terms().size(); ++i) {
    const SymTerm &x = a.terms()[i], &y = b.terms()[i];
    if (x.coefficient != y.coefficient || !factors_equal(x.factors, y.factors)) return false;
  }
  return true;
}

Tri dim_equal(const SymDim& a, const SymDim& b) {
  if (a.known() && b.known()) return a.constant() == b.constant() ? Tri::kYes : Tri::kNo;
  SymDim d = a - b;
  if (d.known()) return d.constant() == 0 ? Tri::kYes : Tri::kNo;
  Range r = range_of(d);
  return r.min > 0 || r.max < 0 ? Tri::kNo : Tri::kUnknown;
}

// floor((b*q + r) / b) = q + floor(r / b): terms that b divides leave the atom, so that a quotient
// has one form.
SymDim dim_floor_div(const SymDim& a, int64_t b) {
  if (b <= 0) throw Error("a dimension is divided by a number below 1");
  if (a.known()) return SymDim(dim_floor_div(a.constant_, b));
  int64_t whole = dim_floor_div(a.constant_, b);
  std::vector<SymTerm> quotient, rest;
  for (const SymTerm& t : a.terms()) {
    if (t.coefficient % b == 0) {
      quotient.push_back({t.coefficient / b, t.factors});
    } else {
      rest.push_back(t);
    }
  }
  SymDim result = SymDim::make(whole, std::move(quotient));
  if (rest.empty()) return result;
  SymDim inner = SymDim::make(a.constant_ - whole * b, std::move(rest));
  Range r = range_of(inner);
  std::string text = "floor(" + inner.text() + "," + std::to_string(b) + ")";
  return result + SymDim::of_atom(std::make_shared<const SymAtom>(
                      SymAtom{SymAtom::Kind::kFloorDiv, std::move(text), dim_floor_div(r.min, b),
                              dim_floor_div(r.max, b), std::move(inner), SymDim(b)}));
}

std::optional<SymDim> dim_exact_div(const SymDim& a, const SymDim& b) {
  if (b.constant_ != 0 || b.terms().size() != 1 || a.constant_ != 0) return {};
  const SymTerm& by = b.terms()[0];
  std::vector<SymTerm> quotient;
  int64_t constant = 0;
  for (const SymTerm& t : a.terms()) {
    SymTerm q{t.coefficient / by.coefficient, t.factors};
    if (t.coefficient % by.coefficient != 0) return {};
    for (const SymAtomRef& f : by.factors) {
      auto at = std::find_if(q.factors.begin(), q.factors.end(), [&](const SymAtomRef& g) {
        return g->kind == f->kind && g->text == f->text;
      });
      if (at == q.factors.end()) return {};
      q.factors.erase(at);
    }
    if (q.factors.empty()) {
      constant = wrap_add(constant, q.coefficient);
    } else {
      quotient.push_back(std::move(q));
    }
  }
  return SymDim::make(constant, std::move(quotient));
}

SymDim dim_max(const SymDim& a, const SymDim& b) {
  if (a.known() && b.known()) return SymDim(std::max(a.constant_, b.constant_));
  Range d = range_of(a - b);
  if (d.min >= 0) return a;
  if (d.max <= 0) return b;
  if (never_positive(b - a)) return a;
  if (never_positive(a - b)) return b;
  const SymDim *x = &a, *y = &b;
  if (y->text() < x->text()) std::swap(x, y);
  std::string text = "max(" + x->text() + "," + y->text() + ")";
  return SymDim::of_atom(std::make_shared<const SymAtom>(
      SymAtom{SymAtom::Kind::kMax, std::move(text), std::max(a.min(), b.min()),
              std::max(a.max(), b.max()), *x, *y}));
}

std::string SymDim::text() const {
  if (known()) return std::to_string(constant_);
  std::string s;
  for (const SymTerm& t : terms()) {
    if (t.coefficient < 0) {
      s += "-";
    } else if (!s.empty()) {
      s += "+";
    }
    if (t.coefficient != 1 && t.coefficient != -1) {
      std::string c = std::to_string(t.coefficient);
      s += (c[0] == '-' ? c.substr(1) : c) + "*";
    }
    for (size_t i = 0; i < t.factors.size(); ++i) s += (i == 0 ? "" : "*") + t.factors[i]->text;
  }
  if (constant_ > 0) s += "+";
  if (constant_ != 0) s += std::to_string(constant_);
  return s;
}

int64_t SymDim::evaluate(const std::function<int64_t(const std::string&)>& lookup) const {
  int64_t sum = constant_;
  for (const SymTerm& t : terms()) {
    int64_t p = t.coefficient;
    for (const SymAtomRef& f : t.factors) {
      int64_t v = 0;
      if (f->kind == SymAtom::Kind::kSymbol) {
        v = lookup(f->text);
        if (v < 0) throw Error("dimension " + f->text + " has no value");
      } else if (f->kind == SymAtom::Kind::kFloorDiv) {
        v = dim_floor_div(f->a.evaluate(lookup), f->b.constant());
      } else {
        v = std::max(f->a.evaluate(lookup), f->b.evaluate(lookup));
      }
      p = wrap_mul(p, v);
    }
    sum = wrap_add(sum, p);
  }
  return sum;
}

void SymDim::each_symbol(
    const std::function<void(const std::string&, int64_t, int64_t)>& visit) const {
  for (const SymTerm& t : terms()) {
    for (const SymAtomRef& f : t.factors) {
      if (f->kind == SymAtom::Kind::kSymbol) {
        visit(f->text, f->min, f->max);
      } else {
        f->a.each_symbol(visit);
        f->b.each_symbol(visit);
      }
    }
  }
}

std::string shape_text(const SymShape& shape) {
  std::string s = "[";
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != 0) s += ',';
    s += shape[i].text();
  }
  s += ']';
  return s;
}

ShapeText to_text(const SymShape& shape) {
  ShapeText t;
  std::string s = shape_text(shape);
  size_t n = std::min(s.size(), sizeof(t.text) - 1);
  s.copy(t.text, n);
  t.text[n] = '\0';
  return t;
}

bool is_static(const SymShape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const SymDim& d) { return d.known(); });
}
Shape to_static(const SymShape& shape) {
  Shape s;
  for (const SymDim& d : shape) {
    if (!d.known()) throw Error("shape " + shape_text(shape) + " is not static");
    s.push_back(d.constant());
  }
  return s;
}
SymShape to_symbolic(const Shape& shape) {
  SymShape s;
  for (int64_t d : shape) s.push_back(SymDim(d));
  return s;
}

namespace {

// sum := ['-'] product {('+'|'-') product}; product := factor {'*' factor}; factor := number | name
// | f(sum,sum)
class DimParser {
 public:
  DimParser(const std::string& text, const std::function<SymDim(const std::string&)>& symbol)
      : text_(text), symbol_(symbol) {}

  SymDim parse() {
    SymDim d = sum();
    if (at_ != text_.size()) fail();
    return d;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error("cannot read the dimension \"" + text_.substr(0, 200) + "\"");
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void expect(char c) {
    if (peek() != c) fail();
    ++at_;
  }
  SymDim sum() {
    if (++depth_ > 64) fail();
    SymDim total(0);
    char sign = '+';
    if (peek() == '-') {
      sign = '-';
      ++at_;
    }
    while (true) {
      SymDim p = factor();
      while (peek() == '*') {
        ++at_;
        p = p * factor();
      }
      total = sign == '+' ? total + p : total - p;
      if (peek() != '+' && peek() != '-') break;
      sign = text_[at_++];
    }
    --depth_;
    return total;
  }
  SymDim factor() {
    size_t from = at_;
    if (isdigit(static_cast<unsigned char>(peek())) != 0) {
      while (isdigit(static_cast<unsigned char>(peek())) != 0) ++at_;
      // 2^63 is the magnitude of the least number, whose sign has been read.
      uint64_t v = 0;
      if (!read_integer(std::string_view(text_).substr(from, at_ - from), &v) || v > 1ull << 63)
        fail();
      return SymDim(static_cast<int64_t>(v));
    }
    while (peek() != '\0' && std::string("*+-(),[] ").find(peek()) == std::string::npos) ++at_;
    std::string name = text_.substr(from, at_ - from);
    if (name.empty()) fail();
    if (peek() != '(') return symbol_(name);
    ++at_;
    SymDim a = sum();
    expect(',');
    SymDim b = sum();
    expect(')');
    if (name == "max") return dim_max(a, b);
    if (name != "floor" || !b.known() || b.constant() <= 0) fail();
    return dim_floor_div(a, b.constant());
  }

  const std::string& text_;
  const std::function<SymDim(const std::string&)>& symbol_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

SymDim parse_dim(const std::string& text, const std::function<SymDim(const std::string&)>& symbol) {
  return DimParser(text, symbol).parse();
}

}  // namespace wick
