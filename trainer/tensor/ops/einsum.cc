// einsum: the equation is parsed once; then come diagonals, sums, and one matmul per pair of
// operands, from the left.
#include <algorithm>
#include <string>

#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"

namespace wick {
namespace {

// A label is a letter, or -1, -2 ... for the ellipsis's dims, counted from the last.
using Labels = std::vector<int>;

struct Term {
  Tensor t;
  Labels labels;  // one per dim, without duplicates

  int find(int label) const {
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == label) return static_cast<int>(i);
    }
    return -1;
  }
};

bool has(const Labels& l, int label) {
  for (int x : l) {
    if (x == label) return true;
  }
  return false;
}

class Einsum {
 public:
  Einsum(std::string_view equation, std::vector<Tensor> operands, const Where& where)
      : equation_(equation), at_(where) {
    parse(operands);
  }

  Tensor run() {
    Term all = std::move(terms_[0]);
    for (size_t i = 1; i < terms_.size(); ++i) all = contract(std::move(all), terms_[i], i);
    for (int label : Labels(all.labels)) {
      if (!has(out_, label)) all = sum_out(std::move(all), label);
    }
    return arranged(all, out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, Code code = Code::kInvalidArgument) const {
    throw_error("einsum", what + " in \"" + std::string(equation_) + "\"", at_.where, code);
  }
  static std::string quoted(int label) {
    return label < 0 ? "'...'" : std::string("'") + static_cast<char>(label) + "'";
  }

  // Returns the labels of one operand; `ellipsis_dims`: the number of dims that "..." stands for.
  Labels labels_of(std::string_view part, int ellipsis_dims) const {
    Labels l;
    bool ellipsis = false;
    for (size_t i = 0; i < part.size(); ++i) {
      const char c = part[i];
      if (c == ' ') continue;
      if (c == '.') {
        if (part.substr(i, 3) != "..." || ellipsis) fail("a stray '.'");
        ellipsis = true;
        for (int d = ellipsis_dims; d > 0; --d) l.push_back(-d);
        i += 2;
      } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        l.push_back(c);
      } else {
        fail(std::string("subscripts are letters, got '") + c + "'");
      }
    }
    return l;
  }

  void parse(const std::vector<Tensor>& operands) {
    std::string_view left = equation_, right;
    const size_t arrow = equation_.find("->");
    if (arrow != std::string_view::npos) {
      left = equation_.substr(0, arrow);
      right = equation_.substr(arrow + 2);
    }
    std::vector<std::string_view> parts;
    for (size_t begin = 0;;) {
      const size_t comma = left.find(',', begin);
      parts.push_back(left.substr(begin, comma == std::string_view::npos ? comma : comma - begin));
      if (comma == std::string_view::npos) break;
      begin = comma + 1;
    }
    if (parts.size() != operands.size()) {
      fail(std::to_string(parts.size()) + " subscripts for " + std::to_string(operands.size()) +
           " operands");
    }
    int most = 0;  // number of dims of the longest ellipsis
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].defined()) fail("operand " + std::to_string(i) + " is undefined");
      if (operands[i].dtype() != operands[0].dtype() &&
          !autocast_joins(operands[i].dtype(), operands[0].dtype())) {
        fail(std::string("operands of ") + dtype_name(operands[0].dtype()) + " and " +
                 dtype_name(operands[i].dtype()),
             Code::kTypeMismatch);
      }
      const int letters = static_cast<int>(labels_of(parts[i], 0).size());
      const bool ellipsis = parts[i].find("...") != std::string_view::npos;
      const int rest = operands[i].rank() - letters;
      if (ellipsis ? rest < 0 : rest != 0) {
        fail("operand " + std::to_string(i) + " " + text(operands[i]) + " has " +
                 std::to_string(operands[i].rank()) + " dims, its subscripts name " +
                 (ellipsis ? "at least " : "") + std::to_string(letters),
             Code::kShapeMismatch);
      }
      if (ellipsis) most = std::max(most, rest);
      add_term(i, operands[i], labels_of(parts[i], ellipsis ? rest : 0));
    }
    if (arrow == std::string_view::npos) {
      implicit_output(most);
    } else {
      out_ = labels_of(right, most);
    }
    for (size_t i = 0; i < out_.size(); ++i) {
      bool known = false;
      for (const Term& term : terms_) known = known || term.find(out_[i]) >= 0;
      if (!known) fail("output subscript " + quoted(out_[i]) + " names no dim of the operands");
      for (size_t j = 0; j < i; ++j) {
        if (out_[j] == out_[i]) fail("output subscript " + quoted(out_[i]) + " is given twice");
      }
    }
  }

  void implicit_output(int ellipsis_dims) {
    for (int d = ellipsis_dims; d > 0; --d) out_.push_back(-d);
    for (int c = 'A'; c <= 'z'; ++c) {
      if (seen_[c] == 1) out_.push_back(c);
    }
  }

  // Takes the diagonal of repeated labels, and checks sizes against the earlier operands.
  void add_term(size_t index, Tensor t, const Labels& labels) {
    Term term;
    for (int label : labels) {
      if (label > 0) ++seen_[label];
    }
    const bool viewed = active_tracer() == nullptr && t.is_contiguous();
    for (size_t i = 0, dim = 0; i < labels.size(); ++i) {
      const int first = term.find(labels[i]);
      if (first < 0) {
        term.labels.push_back(labels[i]);
        ++dim;
      } else {
        t = diagonal(t, first, static_cast<int>(dim), labels[i], index, viewed);
      }
    }
    for (size_t i = 0; i < term.labels.size(); ++i) {
      const int label = term.labels[i];
      const int64_t n = t.raw_shape()[static_cast<int>(i)];
      Extent& e = size_[label + kMaxRank];
      if (e.size == -1 || e.size == 1) {
        e = {n, index};
      } else if (n != 1 && n != e.size) {
        fail("subscript " + quoted(label) + " is " + std::to_string(e.size) + " in operand " +
                 std::to_string(e.operand) + " and " + std::to_string(n) + " in operand " +
                 std::to_string(index),
             Code::kShapeMismatch);
      }
    }
    term.t = std::move(t);
    terms_.push_back(std::move(term));
  }

  // Merges dims a < b into one at a, their diagonal: a view, as PyTorch's, of a contiguous operand;
  // in a graph, whose sizes may be free, rows and columns flattened, every (n + 1)-th element.
  Tensor diagonal(const Tensor& t, int a, int b, int label, size_t index, bool viewed) const {
    const int64_t n = t.raw_shape()[a];
    if (n != t.raw_shape()[b]) {
      fail("subscript " + quoted(label) + " repeats over sizes " + std::to_string(n) + " and " +
               std::to_string(t.raw_shape()[b]) + " in operand " + std::to_string(index),
           Code::kShapeMismatch);
    }
    if (viewed) return movedim(at_(wick::diagonal(at_(t), 0, a, b)), -1, a);
    TransposeAttrs p;
    Shape flat;
    for (int i = 0; i < t.rank(); ++i) {
      if (i == b) continue;
      p.perm.values[p.perm.count++] = i;
      if (i == a) p.perm.values[p.perm.count++] = b;
      flat.push_back(i == a ? n * n : t.raw_shape()[i]);
    }
    Tensor square = call(OpId::kTranspose, p, {at_(t)});
    return square.reshape(flat, at_.where).slice(a, 0, n * n, n + 1, at_.where);
  }

  Term sum_out(Term x, int label) const {
    const int d = x.find(label);
    x.t = sum(at_(x.t), {d});
    x.labels.erase(x.labels.begin() + d);
    return x;
  }

  // Returns x's dims in the order of `labels`, all of which x has.
  Tensor arranged(const Term& x, const Labels& labels) const {
    TransposeAttrs p;
    bool moves = false;
    for (int label : labels) {
      moves = moves || x.find(label) != p.perm.count;
      p.perm.values[p.perm.count++] = x.find(label);
    }
    return moves ? call(OpId::kTranspose, p, {at_(x.t)}) : x.t;
  }

  bool needed_later(int label, size_t next) const {
    if (has(out_, label)) return true;
    for (size_t i = next; i < terms_.size(); ++i) {
      if (terms_[i].find(label) >= 0) return true;
    }
    return false;
  }

  static Labels joined(const Labels& a, const Labels& b, const Labels& c) {
    Labels l = a;
    l.insert(l.end(), b.begin(), b.end());
    l.insert(l.end(), c.begin(), c.end());
    return l;
  }

  // The `batch` leading dims of t, then `rest`.
  Tensor shaped(const Tensor& t, size_t batch, const Dims& rest) const {
    Dims d;
    for (size_t i = 0; i < batch; ++i) d.values[d.count++] = kCopy;
    for (int64_t n : rest.span()) d.values[d.count++] = n;
    return reshape_to(t, d, at_);
  }

  // Merges the `first` and the `second` dims after `batch` leading ones to one each.
  Tensor grouped(const Tensor& t, size_t batch, size_t first, size_t second) const {
    if (first == 1 && second == 1) return t;
    Dims d;
    auto merged = [&](size_t begin, size_t count) {
      int64_t n = 1;
      for (size_t i = 0; i < count; ++i) n *= t.raw_shape()[static_cast<int>(begin + i)];
      return n;
    };
    d.values[d.count++] = merged(batch, first);
    d.values[d.count++] = merged(batch + first, second);
    return shaped(t, batch, d);
  }

  // One matmul over [shared and kept..., own, contracted] labels.
  Term contract(Term a, Term b, size_t index) const {
    Labels batch, left, right, inner;
    for (int label : Labels(a.labels)) {
      const int in_b = b.find(label);
      const bool later = needed_later(label, index + 1);
      if (in_b < 0) {
        if (later) {
          left.push_back(label);
        } else {
          a = sum_out(std::move(a), label);
        }
        continue;
      }
      const int64_t na = a.t.raw_shape()[a.find(label)], nb = b.t.raw_shape()[in_b];
      if (na != nb) {  // one of them is 1 and broadcasts: the other operand keeps the label
        const bool drop_a = na == 1;
        Term& one = drop_a ? a : b;
        const int d = one.find(label);
        one.t = one.t.squeeze(d, at_.where);
        one.labels.erase(one.labels.begin() + d);
        if (!later) {
          (drop_a ? b : a) = sum_out(std::move(drop_a ? b : a), label);
        } else if (!drop_a) {
          left.push_back(label);
        }
        continue;
      }
      (later ? batch : inner).push_back(label);
    }
    for (int label : Labels(b.labels)) {
      if (a.find(label) >= 0) continue;
      if (needed_later(label, index + 1)) {
        right.push_back(label);
      } else {
        b = sum_out(std::move(b), label);
      }
    }
    Term y;
    y.labels = joined(batch, left, right);
    // the batch dims, and the two matrix dims that the others are merged into
    const size_t rank = std::max(y.labels.size(), batch.size() + 2);
    if (rank > static_cast<size_t>(kMaxRank))
      fail("an intermediate result of rank " + std::to_string(rank) + " (at most 8 dims)");
    Tensor x =
        grouped(arranged(a, joined(batch, left, inner)), batch.size(), left.size(), inner.size());
    Tensor w =
        grouped(arranged(b, joined(batch, inner, right)), batch.size(), inner.size(), right.size());
    y.t = matmul(at_(x), at_(w));
    if (left.size() == 1 && right.size() == 1) return y;
    Dims d;
    for (int label : left) d.values[d.count++] = a.t.raw_shape()[a.find(label)];
    for (int label : right) d.values[d.count++] = b.t.raw_shape()[b.find(label)];
    y.t = shaped(y.t, batch.size(), d);
    return y;
  }

  struct Extent {
    int64_t size = -1;
    size_t operand = 0;
  };

  std::string_view equation_;
  At at_;
  std::vector<Term> terms_;
  Labels out_;
  int seen_[128] = {};
  Extent size_[128 + kMaxRank];
};

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands, Where where) {
  if (operands.empty()) throw_error("einsum", "needs at least one operand", where);
  return Einsum(equation, operands, where).run();
}
Tensor einsum(std::string_view equation, std::initializer_list<Arg> operands) {
  std::vector<Tensor> all;
  for (const Arg& a : operands) all.push_back(a.tensor);
  return einsum(equation, all, operands.size() > 0 ? operands.begin()->where : Where::current());
}

}  // namespace wick
