// Fusing over values. A piece may join the one that reads its result if nothing else reads it, and
// if nothing that it reads is written between the two: then its arithmetic, which is unchanged,
// happens later and gives the same bits (docs/numerics.md, "fused elementwise").
#include <algorithm>
#include <bit>

#include "runtime/ops/chain.h"
#include "runtime/ops/rule.h"
#include "runtime/registry/registry.h"
#include "trainer/compile/values.h"

namespace wick::compiled {
namespace {

// A few buffers of a row each must stay in a cache; short rows have too little work each.
constexpr int64_t kMinRow = 16, kMaxRow = 1 << 14;

class Fuser {
 public:
  explicit Fuser(Works* works) : w_(*works), readers_(works->values.size()) {
    maker_.assign(w_.values.size(), -1);
    for (size_t i = 0; i < w_.list.size(); ++i) {
      const Work& work = w_.list[i];
      if (work.gone) continue;
      for (const Operand& o : work.in) {
        if (o.value >= 0) add_reader(o.value, static_cast<int>(i));
      }
      for (const Operand& o : work.out) {
        if (o.value >= 0) maker_[static_cast<size_t>(o.value)] = static_cast<int>(i);
      }
    }
  }

  int run() {
    int fused = 0;
    for (size_t i = w_.list.size(); i-- > 0;) {
      while (join_one(static_cast<int>(i))) ++fused;
    }
    return fused;
  }

 private:
  struct Chain {
    ChainAttrs attrs;
    std::vector<Operand> in;
  };

  const Value& value(int v) const { return w_.values[static_cast<size_t>(v)]; }
  Work& work(int i) { return w_.list[static_cast<size_t>(i)]; }
  void add_reader(int v, int i) {
    std::vector<int>& list = readers_[static_cast<size_t>(v)];
    if (list.empty() || list.back() != i) list.push_back(i);
  }
  // Returns the number that a constant of one element is, as the kernels take it.
  bool number(const Operand& o, double* out) const {
    if (o.value < 0 || value(o.value).constant < 0 || o.view.dtype != DType::kF32 ||
        o.view.rank() != 0)
      return false;
    const Entry& e = *w_.list[static_cast<size_t>(value(o.value).constant)].entry;
    float f;
    if (o.offset < 0 || static_cast<size_t>(o.offset) + sizeof f > e.bytes.size()) return false;
    __builtin_memcpy(&f, e.bytes.data() + o.offset, sizeof f);
    *out = static_cast<double>(f);
    return true;
  }

  bool chain_of(const Work& work, Chain* out) const;
  bool merge(const Chain& first, int made, const Chain& then, int row_dims, Chain* out) const;
  bool fits(const Chain& c, const TensorView& result) const;
  int rows_of(const Work& first, const TensorView& whole, int row_dims) const;
  bool join_one(int i);

  Works& w_;
  std::vector<std::vector<int>> readers_;  // of a value, ascending
  std::vector<int> maker_;                 // the work that writes a value last
};

int add_constant(ChainAttrs* a, double number) {
  const auto bits = std::bit_cast<int64_t>(number);
  int64_t at = 0;
  while (at < a->constants.count && a->constants[at] != bits) ++at;
  if (at == a->constants.count) {
    if (at == kChainConstants) return -1;
    a->constants.values[a->constants.count++] = bits;
  }
  return kChainFirstConstant + static_cast<int>(at);
}

int add_input(std::vector<Operand>* list, const Operand& o) {
  for (size_t i = 0; i < list->size(); ++i) {
    if (same_operand((*list)[i], o)) return static_cast<int>(i);
  }
  list->push_back(o);
  return static_cast<int>(list->size()) - 1;
}

// Returns how many trailing dims a reduction reduces to 1; 0: it is not of that form.
int reduced_dims(const ReduceAttrs& a, int rank) {
  if (a.keepdims == 0 || a.axes.count == 0) return 0;
  bool reduced[kMaxRank] = {};
  for (int64_t axis : a.axes.span()) reduced[axis < 0 ? axis + rank : axis] = true;
  const auto dims = static_cast<int>(a.axes.count);
  for (int i = 0; i < rank; ++i) {
    if (reduced[i] != (i >= rank - dims)) return 0;
  }
  return dims;
}

// Returns an operand that was expanded with 1 instead of the sizes along which it is repeated: ops
// that broadcast read the same elements.
Operand unexpanded(Operand o) {
  for (int d = 0; d < o.view.rank(); ++d) {
    if (o.view.strides[d] == 0) o.view.shape[d] = 1;
  }
  return o;
}

// Writes the work as a chain of one step, or of its own steps. Returns false if it cannot be one.
bool Fuser::chain_of(const Work& work, Chain* out) const {
  if (work.entry->kind != Entry::kKernel || work.out.size() != 1 || work.out[0].value < 0)
    return false;
  if (!work.out[0].view.contiguous()) return false;
  std::vector<Operand> operands;
  for (const Operand& o : work.in) operands.push_back(unexpanded(o));
  for (const Operand& o : operands) {
    if (o.value < 0 || !o.view.contiguous()) return false;
    if (o.view.dtype != DType::kF32 && o.view.dtype != DType::kBool) return false;
  }
  if (work.op == OpId::kFusedElementwise) {
    out->attrs = work.attrs.as<ChainAttrs>();
    out->in = operands;
    return work.out[0].view.dtype == DType::kF32;
  }
  const ChainOp what = chain_op(work.op);
  if (what.kind == ChainKind::kNone) return false;
  const DType result = work.out[0].view.dtype;
  if (result != DType::kF32 && result != DType::kBool) return false;
  if (what.kind == ChainKind::kCast &&
      (result != DType::kF32 || work.in.empty() || work.in[0].view.dtype != DType::kBool))
    return false;
  if (static_cast<int>(work.in.size()) != what.operands - what.parameters) return false;
  int in[3] = {}, flag = 0;
  for (size_t k = 0; k < work.in.size(); ++k) {
    double n = 0;
    // A number has no dims that the result could need, as long as another operand has some.
    if (number(operands[k], &n) && work.out[0].view.rank() > 0) {
      in[k] = add_constant(&out->attrs, n);
    } else {
      in[k] = add_input(&out->in, operands[k]);
    }
  }
  if (what.kind == ChainKind::kUnary) {
    int parameter = 0;
    AnyAttrs own = work.attrs;
    for (const AttrField& field : op_info(work.op)->attrs->fields) {
      if (field.kind == AttrKind::kInt) flag = attr_int(field, own.get()) != 0 ? 1 : 0;
      if (field.kind == AttrKind::kFloat)
        in[++parameter] = add_constant(&out->attrs, attr_float(field, own.get()));
    }
  }
  if (what.kind == ChainKind::kReduce) {
    out->attrs.row_dims = reduced_dims(work.attrs.as<ReduceAttrs>(), work.in[0].view.rank());
    if (out->attrs.row_dims == 0) return false;
  }
  out->attrs.steps.values[out->attrs.steps.count++] =
      chain_word(work.op, in[0], in[1], in[2], flag);
  return !out->in.empty();
}

// Puts the steps of `first`, whose result is the operand `made` of `then`, before those of `then`.
bool Fuser::merge(const Chain& first, int made, const Chain& then, int row_dims, Chain* out) const {
  const int64_t early = first.attrs.steps.count, late = then.attrs.steps.count;
  if (early + late > kChainSteps) return false;
  out->attrs.row_dims = row_dims;
  const int result = kChainFirstStep + static_cast<int>(early) - 1;
  const auto append = [&](const Chain& c, int shift, int joined) {
    for (int64_t word : c.attrs.steps.span()) {
      const ChainStep s = chain_step(word);
      int in[3] = {};
      for (int k = 0; k < s.what.operands; ++k) {
        const int o = s.operand[k];
        if (o >= kChainFirstStep) {
          in[k] = o + shift;
        } else if (o >= kChainFirstConstant) {
          in[k] = add_constant(&out->attrs, chain_constant(c.attrs, o));
          if (in[k] < 0) return false;
        } else if (o == joined) {
          in[k] = result;
        } else {
          in[k] = add_input(&out->in, c.in[static_cast<size_t>(o)]);
        }
      }
      out->attrs.steps.values[out->attrs.steps.count++] =
          chain_word(s.op, in[0], in[1], in[2], s.flag);
    }
    return true;
  };
  return append(first, 0, -1) && append(then, static_cast<int>(early), made) &&
         out->in.size() <= static_cast<size_t>(kChainInputs);
}

// Returns whether the chain is one by its rule, and gives that result.
bool Fuser::fits(const Chain& c, const TensorView& result) const {
  std::vector<ValueInfo<int64_t>> in(c.in.size());
  bool real = false;
  for (size_t i = 0; i < in.size(); ++i) {
    in[i].dtype = c.in[i].view.dtype;
    in[i].shape = c.in[i].view.shape;
    real = real || in[i].dtype == DType::kF32;
  }
  ValueInfo<int64_t> made;
  RuleCtx<int64_t> ctx{OpId::kFusedElementwise, &c.attrs, in, {&made, 1}};
  return real && infer_shapes(ctx).ok() && made.dtype == result.dtype && made.shape == result.shape;
}

// Returns the trailing dims that `first` has reduced, as a part of something of the shape of
// `whole`; -1: it cannot be a part. 0: it has that shape.
int Fuser::rows_of(const Work& first, const TensorView& whole, int row_dims) const {
  const TensorView& y = first.out[0].view;
  if (y.shape == whole.shape) return 0;
  if (y.rank() != whole.rank()) return -1;
  int dims = 0;
  while (dims < y.rank() && y.shape[y.rank() - 1 - dims] == 1) ++dims;
  // A dim of 1 in both belongs to the rows or not: the chain's reductions decide.
  const int least = [&] {
    int d = 0;
    for (int k = 1; k <= y.rank(); ++k) {
      if (y.shape[y.rank() - k] != whole.shape[whole.rank() - k]) d = k;
    }
    return d;
  }();
  if (least == 0 || least > dims) return -1;
  const int rows = row_dims > 0 ? row_dims : least;
  if (rows < least || rows > dims) return -1;
  int64_t row = 1;
  for (int k = 1; k <= rows; ++k) row *= whole.shape[whole.rank() - k];
  if (row < kMinRow || row > kMaxRow) return -1;
  // Nothing that is computed once a row shall be computed for each element: some reduction must
  // make it.
  if (chain_op(first.op).kind == ChainKind::kReduce) return rows;
  for (const Operand& o : first.in) {
    const int from = o.value >= 0 ? maker_[static_cast<size_t>(o.value)] : -1;
    if (from < 0) continue;
    const Work& before = w_.list[static_cast<size_t>(from)];
    if (!before.gone && before.entry->kind == Entry::kKernel &&
        chain_op(before.op).kind == ChainKind::kReduce)
      return rows;
  }
  return -1;
}

// Returns whether the step ran it as one pass over rows: a norm, which has a kernel of its own for
// exactly these steps.
bool is_norm(const Work& work) {
  return work.entry->op == OpId::kFusedElementwise &&
         work.entry->attrs.as<ChainAttrs>().row_dims > 0;
}

// Joins one maker of an operand to the work. Returns false if there is none.
bool Fuser::join_one(int i) {
  Work& last = work(i);
  if (last.gone || is_norm(last)) return false;
  Chain then;
  if (!chain_of(last, &then) || last.out[0].view.dtype != DType::kF32) return false;
  const TensorView& whole = last.out[0].view;
  const auto own_rows = static_cast<int>(then.attrs.row_dims);
  // What is written in place must stay the first input.
  for (const Operand& o : then.in) {
    if (value(o.value).buffer == value(last.out[0].value).buffer && !value(o.value).once)
      return false;
  }
  // A reduction cannot be the end of a chain.
  if (chain_op(last.op).kind == ChainKind::kReduce) return false;
  for (size_t k = 0; k < then.in.size(); ++k) {
    const Operand o = then.in[k];
    const Value& v = value(o.value);
    const int from = maker_[static_cast<size_t>(o.value)];
    if (!v.once || v.constant >= 0 || from < 0 || from >= i) continue;
    if (readers_[static_cast<size_t>(o.value)] != std::vector<int>{i}) continue;
    Work& first = work(from);
    Chain early, joined;
    if (first.gone || is_norm(first) || !chain_of(first, &early)) continue;
    if (!same_operand(o, first.out[0])) continue;
    const int rows = rows_of(first, whole, own_rows);
    const auto early_rows = static_cast<int>(early.attrs.row_dims);
    if (rows < 0 || !Uses(w_).may_wait(first, from, i)) continue;
    const int row_dims = std::max({own_rows, rows, early_rows});
    if ((early_rows > 0 && early_rows != row_dims) || (own_rows > 0 && own_rows != row_dims))
      continue;
    if (!merge(early, static_cast<int>(k), then, row_dims, &joined) || !fits(joined, whole))
      continue;
    last.op = OpId::kFusedElementwise;
    last.attrs = AnyAttrs::of(joined.attrs);
    last.in = joined.in;
    first.gone = true;
    for (const Operand& read : last.in) {
      std::vector<int>& list = readers_[static_cast<size_t>(read.value)];
      list.erase(std::remove(list.begin(), list.end(), from), list.end());
      if (std::find(list.begin(), list.end(), i) == list.end()) {
        list.push_back(i);
        std::sort(list.begin(), list.end());
      }
    }
    return true;
  }
  return false;
}

}  // namespace

int fuse(Works* works) { return Fuser(works).run(); }

}  // namespace wick::compiled
