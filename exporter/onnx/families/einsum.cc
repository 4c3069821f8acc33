// Einsum takes the diagonals of repeated letters, then joins the operands from left to right, each
// pair by a product or by a MatMul over the letters that nothing later needs.
#include <algorithm>
#include <map>

#include "exporter/onnx/read/compose.h"

namespace wick::onnx {
namespace {

using Labels = std::vector<int>;  // a letter, or -1, -2 ...: a dim of the ellipsis, from the right

bool has(const Labels& l, int label) { return std::find(l.begin(), l.end(), label) != l.end(); }
size_t place(const Labels& l, int label) {
  return static_cast<size_t>(std::find(l.begin(), l.end(), label) - l.begin());
}

struct Operand {
  ValueId v;
  Labels labels;
};

struct Term {
  std::string before, after;  // the letters before and after the ellipsis
  bool ellipsis = false;
};

Term parse_term(ReadCtx& c, const std::string& text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    const char ch = text[i];
    if (text.compare(i, 3, "...") == 0) {
      if (term.ellipsis) c.fail("the equation has two ellipses in one term");
      term.ellipsis = true;
      i += 2;
    } else if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')) {
      (term.ellipsis ? term.after : term.before) += ch;
    } else {
      c.fail(std::string("the equation has the character '") + ch + "'");
    }
  }
  return term;
}

Labels labels_of(const Term& term, int64_t ellipsis_dims) {
  Labels l(term.before.begin(), term.before.end());
  for (int64_t i = ellipsis_dims; i > 0; --i) l.push_back(static_cast<int>(-i));
  l.insert(l.end(), term.after.begin(), term.after.end());
  return l;
}

struct Equation {
  std::vector<Operand> operands;
  Labels output;
};

Equation parse(ReadCtx& c) {
  std::string text = c.attr_string("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (char ch : text.substr(0, arrow)) {
    if (ch == ',') {
      terms.emplace_back();
    } else {
      terms.back() += ch;
    }
  }
  if (terms.size() != static_cast<size_t>(c.inputs()))
    c.fail("the equation has " + std::to_string(terms.size()) + " terms for " +
           std::to_string(c.inputs()) + " inputs");
  Equation e;
  std::map<int, int> count;
  int64_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    Term term = parse_term(c, terms[i]);
    ValueId v = c.in(static_cast<int>(i));
    const auto letters = static_cast<int64_t>(term.before.size() + term.after.size());
    const int64_t rest =
        (term.ellipsis ? c.rank(v) : rank_or(c, v, static_cast<int>(letters))) - letters;
    if (rest < 0 || (rest > 0 && !term.ellipsis)) {
      c.fail("the term '" + terms[i] + "' does not name the dimensions of " +
             shape_text(shape(c, v)));
    }
    widest = std::max(widest, rest);
    e.operands.push_back({v, labels_of(term, rest)});
    for (int label : e.operands.back().labels) ++count[label];
  }
  if (arrow == std::string::npos) {
    for (int64_t i = widest; i > 0; --i) e.output.push_back(static_cast<int>(-i));
    for (auto [label, times] : count) {
      if (label > 0 && times == 1) e.output.push_back(label);
    }
    return e;
  }
  Term out = parse_term(c, text.substr(arrow + 2));
  e.output = labels_of(out, out.ellipsis ? widest : 0);
  for (size_t i = 0; i < e.output.size(); ++i) {
    if (count.find(e.output[i]) == count.end() || place(e.output, e.output[i]) != i)
      c.fail("the output must name each of its letters once, and only those of the inputs");
  }
  return e;
}

Operand ordered(ReadCtx& c, const Operand& x, const Labels& order) {
  std::vector<int64_t> perm;
  for (int label : order) perm.push_back(static_cast<int64_t>(place(x.labels, label)));
  return {transpose(c, x.v, perm), order};
}

// Takes the diagonal where one letter names two dims: x[..., i, i], element by element.
Operand diagonals(ReadCtx& c, Operand x) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const auto again =
        std::find(x.labels.begin() + static_cast<int64_t>(i) + 1, x.labels.end(), x.labels[i]);
    if (again == x.labels.end()) continue;
    const auto j = static_cast<size_t>(again - x.labels.begin());
    const int rank = c.rank(x.v);
    std::vector<int64_t> perm;
    Labels rest;
    for (size_t d = 0; d < x.labels.size(); ++d) {
      if (d == i || d == j) continue;
      perm.push_back(static_cast<int64_t>(d));
      rest.push_back(x.labels[d]);
    }
    perm.push_back(static_cast<int64_t>(i));
    perm.push_back(static_cast<int64_t>(j));
    const SymShape& s = shape(c, x.v);
    if (dim_equal(s[static_cast<int>(i)], s[static_cast<int>(j)]) == Tri::kNo)
      c.fail("a repeated letter names dimensions of two sizes in " + shape_text(s));
    ValueId v = transpose(c, x.v, perm);
    ValueId index = unsqueeze(c, arange(c, dim(c, v, rank - 1)), {1});
    index = expand_to(c, index, concat(c, {dims(c, v, 0, rank - 1), c.int_constant({1})}, 0));
    v = c.emit(OpId::kGatherElements, AxisAttrs{rank - 1}, {v, index});
    rest.push_back(x.labels[i]);
    x = {squeeze(c, v, {rank - 1}), rest};
    i = static_cast<size_t>(-1);
  }
  return x;
}

const SymDim& extent(ReadCtx& c, const Operand& x, int label) {
  return shape(c, x.v)[static_cast<int>(place(x.labels, label))];
}

// A dim of 1 broadcasts to its letter's size: it is dropped where another operand has that size.
void drop_ones(ReadCtx& c, std::vector<Operand>& all) {
  for (Operand& x : all) {
    std::vector<int64_t> axes;
    Labels left;
    for (size_t d = 0; d < x.labels.size(); ++d) {
      const int label = x.labels[d];
      const SymDim& own = shape(c, x.v)[static_cast<int>(d)];
      bool wider = false;
      for (const Operand& y : all) {
        if (&y == &x || !has(y.labels, label)) continue;
        const SymDim& other = extent(c, y, label);
        if (own.known() && other.known() && own.constant() != other.constant() &&
            own.constant() != 1 && other.constant() != 1) {
          c.fail("a letter names dimensions of two sizes, " + own.text() + " and " + other.text());
        }
        wider = wider || dim_equal(other, SymDim(1)) != Tri::kYes;
      }
      if (wider && dim_equal(own, SymDim(1)) == Tri::kYes) {
        axes.push_back(static_cast<int64_t>(d));
      } else {
        left.push_back(label);
      }
    }
    if (!axes.empty()) x = {squeeze(c, x.v, axes), left};
  }
}

template <class Keep>
Operand sum_out(ReadCtx& c, const Operand& x, const Keep& keep) {
  std::vector<int64_t> axes;
  Labels left;
  for (size_t d = 0; d < x.labels.size(); ++d) {
    if (keep(x.labels[d])) {
      left.push_back(x.labels[d]);
    } else {
      axes.push_back(static_cast<int64_t>(d));
    }
  }
  return axes.empty() ? x : Operand{reduce(c, OpId::kReduceSum, x.v, axes, false), left};
}

// Returns the number of elements of dims [from, to), as a vector of one.
ValueId elements(ReadCtx& c, ValueId v, size_t from, size_t to) {
  if (from == to) return c.int_constant({1});
  ValueId sizes = dims(c, v, static_cast<int64_t>(from), static_cast<int64_t>(to));
  return to - from == 1 ? sizes : reduce(c, OpId::kReduceProd, sizes, {0}, true);
}

// Reshapes x's dims from `batch` on to two: the next `first` dims, and the others.
ValueId as_matrices(ReadCtx& c, ValueId v, size_t batch, size_t first) {
  const auto rank = static_cast<size_t>(c.rank(v));
  if (first == 1 && rank == batch + 2) return v;
  std::vector<ValueId> sizes;
  if (batch > 0) sizes.push_back(dims(c, v, 0, static_cast<int64_t>(batch)));
  sizes.push_back(elements(c, v, batch, batch + first));
  sizes.push_back(elements(c, v, batch + first, rank));
  return reshape_to(c, v, concat(c, sizes, 0));
}

Labels joined(Labels a, const Labels& b, const Labels& more = {}) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), more.begin(), more.end());
  return a;
}

template <class Keep>
Operand pair(ReadCtx& c, Operand a, Operand b, const Keep& keep) {
  a = sum_out(c, a, [&](int l) { return keep(l) || has(b.labels, l); });
  b = sum_out(c, b, [&](int l) { return keep(l) || has(a.labels, l); });
  Labels batch, summed, left, right;
  for (int l : a.labels) {
    if (!has(b.labels, l)) {
      left.push_back(l);
    } else {
      (keep(l) ? batch : summed).push_back(l);
    }
  }
  for (int l : b.labels) {
    if (!has(a.labels, l)) right.push_back(l);
  }
  const size_t shared = batch.size();
  if (summed.empty()) {  // a broadcast product: a's own letters, then b's
    a = ordered(c, a, joined(batch, left));
    b = ordered(c, b, joined(batch, right));
    std::vector<int64_t> behind, between;
    for (size_t i = 0; i < right.size(); ++i)
      behind.push_back(static_cast<int64_t>(shared + left.size() + i));
    for (size_t i = 0; i < left.size(); ++i) between.push_back(static_cast<int64_t>(shared + i));
    if (!behind.empty()) a.v = unsqueeze(c, a.v, behind);
    if (!between.empty()) b.v = unsqueeze(c, b.v, between);
    return {c.emit(OpId::kMul, {a.v, b.v}), joined(batch, left, right)};
  }
  a = ordered(c, a, joined(batch, left, summed));
  b = ordered(c, b, joined(batch, summed, right));
  ValueId y = c.emit(OpId::kMatMul, {as_matrices(c, a.v, shared, left.size()),
                                     as_matrices(c, b.v, shared, summed.size())});
  if (left.size() != 1 || right.size() != 1) {
    std::vector<ValueId> sizes;
    const auto at = [](size_t i) { return static_cast<int64_t>(i); };
    if (shared > 0) sizes.push_back(dims(c, y, 0, at(shared)));
    if (!left.empty()) sizes.push_back(dims(c, a.v, at(shared), at(shared + left.size())));
    if (!right.empty())
      sizes.push_back(dims(c, b.v, at(shared + summed.size()), at(b.labels.size())));
    y = sizes.empty() ? squeeze(c, y, {0, 1}) : reshape_to(c, y, concat(c, sizes, 0));
  }
  return {y, joined(batch, left, right)};
}

void einsum(ReadCtx& c) {
  Equation e = parse(c);
  // ONNX multiplies and sums no integers shorter than 32 bits: they are widened, and the result is
  // cut off at the end.
  const DType dtype = c.dtype(c.in(0));
  const bool shorter = is_int(dtype) && dtype_bits(dtype) < 32;
  for (Operand& x : e.operands) {
    if (shorter) x.v = cast(c, x.v, is_signed_int(dtype) ? DType::kI32 : DType::kU32);
  }
  for (Operand& x : e.operands) x = diagonals(c, x);
  drop_ones(c, e.operands);
  Operand y = e.operands[0];
  for (size_t i = 1; i < e.operands.size(); ++i) {
    const auto keep = [&](int label) {
      bool later = has(e.output, label);
      for (size_t k = i + 1; k < e.operands.size(); ++k)
        later = later || has(e.operands[k].labels, label);
      return later;
    };
    y = pair(c, y, e.operands[i], keep);
  }
  y = ordered(c, sum_out(c, y, [&](int l) { return has(e.output, l); }), e.output);
  y.v = cast(c, y.v, dtype);
  bool made = c.g.value(y.v).origin == ValueOrigin::kNode && y.v != c.in(0);
  c.set(0, made ? y.v : c.emit(OpId::kIdentity, {y.v}));
}

}  // namespace

WICK_READ(Einsum, einsum);

}  // namespace wick::onnx
