#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/norm_chain.cc"
#include "runtime/kernels/elementwise/norm_chain.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reduce/norm_rows-inl.h"
#include "runtime/ops/chain.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(find_norm_rows);

constexpr int kNone = -1;

// The inputs of the chain, kNone where it has no such one.
struct NormChain {
  int x = kNone, weight = kNone, bias = kNone;
  float epsilon = 0;
  bool centred = true, inverted = false;  // as in NormRows
};

// Reads the steps one after another.
class Steps {
 public:
  explicit Steps(const ChainAttrs& a) : a_(a) {}
  int64_t left() const { return a_.steps.count - next_; }
  // Returns the result of the next step if that is `op` of these operands, in this order; else
  // kNone.
  int take(OpId op, int first, int second = kNone) {
    if (left() == 0) return kNone;
    const ChainStep s = chain_step(a_.steps[next_]);
    if (s.op != op || s.operand[0] != first || (second != kNone && s.operand[1] != second))
      return kNone;
    return kChainFirstStep + static_cast<int>(next_++);
  }
  // Returns the other operand of the next step if that is `op`, which commutes, of `one`; else
  // kNone.
  int beside(OpId op, int one) const {
    if (left() == 0) return kNone;
    const ChainStep s = chain_step(a_.steps[next_]);
    if (s.op != op || (s.operand[0] != one && s.operand[1] != one)) return kNone;
    return s.operand[0] == one ? s.operand[1] : s.operand[0];
  }
  // Returns the second operand of the next step if that is `op` and `first` its first one; else
  // kNone.
  int second(OpId op, int first) const {
    if (left() == 0) return kNone;
    const ChainStep s = chain_step(a_.steps[next_]);
    return s.op == op && s.operand[0] == first ? s.operand[1] : kNone;
  }
  int skip() { return kChainFirstStep + static_cast<int>(next_++); }

 private:
  const ChainAttrs& a_;
  int64_t next_ = 0;
};

bool is_input(int operand) { return operand >= 0 && operand < kChainFirstConstant; }

// x x, or x to the power of 2, which is the same.
int take_square(const ChainAttrs& a, Steps& steps, int x) {
  const int power = steps.second(OpId::kPow, x);
  if (power >= kChainFirstConstant && power < kChainFirstStep && chain_constant(a, power) == 2)
    return steps.skip();
  return steps.take(OpId::kMul, x, x);
}

bool read_chain(const ChainAttrs& a, NormChain* to) {
  if (a.steps.count < 5 || a.steps.count > 10) return false;
  Steps steps(a);
  const int x = chain_step(a.steps[0]).operand[0];
  if (!is_input(x)) return false;
  to->x = x;
  const int mean = steps.take(OpId::kReduceMean, x);
  const int centred = mean == kNone ? x : steps.take(OpId::kSub, x, mean);
  to->centred = mean != kNone;
  const int square = centred == kNone ? kNone : take_square(a, steps, centred);
  const int var = square == kNone ? kNone : steps.take(OpId::kReduceMean, square);
  const int epsilon = var == kNone ? kNone : steps.beside(OpId::kAdd, var);
  if (epsilon < kChainFirstConstant || epsilon >= kChainFirstStep) return false;
  to->epsilon = static_cast<float>(chain_constant(a, epsilon));
  const int root = steps.take(OpId::kSqrt, steps.skip());
  int last = root == kNone ? kNone : steps.take(OpId::kDiv, centred, root);
  if (root != kNone && last == kNone) {
    const int inverse = steps.take(OpId::kReciprocal, root);
    to->inverted = inverse != kNone && steps.beside(OpId::kMul, inverse) == centred;
    if (to->inverted) last = steps.skip();
  }
  if (last == kNone) return false;
  if (is_input(steps.beside(OpId::kMul, last))) {
    to->weight = steps.beside(OpId::kMul, last);
    last = steps.skip();
  }
  if (is_input(steps.beside(OpId::kAdd, last))) {
    to->bias = steps.beside(OpId::kAdd, last);
    steps.skip();
  }
  return steps.left() == 0;
}

// Returns dim `back` from the end, 1 where there is none.
int64_t dim_back(const Shape& s, int back) { return back > s.rank() ? 1 : s[s.rank() - back]; }

// Finds how a weight or bias belongs to the rows; false: in another way.
bool place(const Shape& v, const Shape& y, int row_dims, NormRows* rows) {
  bool whole = true;
  for (int k = 1; k <= v.rank() || k <= row_dims; ++k)
    whole = whole && dim_back(v, k) == (k <= row_dims ? dim_back(y, k) : 1);
  if (whole) return true;
  if (row_dims != 2 || dim_back(v, 1) != 1 || dim_back(v, 2) != dim_back(y, 2)) return false;
  for (int k = 4; k <= v.rank(); ++k) {
    if (dim_back(v, k) != 1) return false;
  }
  const int64_t groups = dim_back(v, 3);
  if (groups != 1 && groups != dim_back(y, 3)) return false;
  rows->run = dim_back(y, 1);
  rows->groups = groups;
  return true;
}

// Finds how the chain's inputs are read; false: it is none of these chains, or not of such inputs.
bool read_rows(const KernelQuery& q, NormChain* chain, NormRows* rows) {
  const auto& a = q.as<ChainAttrs>();
  if (!read_chain(a, chain) || q.out[0].numel() == 0) return false;
  const Shape& y = q.out[0].shape;
  const auto row_dims = static_cast<int>(a.row_dims);
  rows->epsilon = chain->epsilon;
  rows->centred = chain->centred, rows->inverted = chain->inverted;
  rows->n = 1;
  for (int k = 1; k <= row_dims; ++k) rows->n *= dim_back(y, k);
  if (rows->n > kPollWork) return false;  // the general row polls within a row
  for (const TensorView& v : q.in) {
    if (v.dtype != DType::kF32) return false;
  }
  if (!(q.in[static_cast<size_t>(chain->x)].shape == y)) return false;
  NormRows of_weight, of_bias;
  if (chain->weight != kNone &&
      !place(q.in[static_cast<size_t>(chain->weight)].shape, y, row_dims, &of_weight))
    return false;
  if (chain->bias != kNone &&
      !place(q.in[static_cast<size_t>(chain->bias)].shape, y, row_dims, &of_bias))
    return false;
  const NormRows& one = chain->weight != kNone ? of_weight : of_bias;
  rows->run = one.run, rows->groups = one.groups;
  return chain->weight == kNone || chain->bias == kNone ||
         (of_weight.run == of_bias.run && of_weight.groups == of_bias.groups);
}

struct Plan {
  NormRowsBody body;
  NormChain chain;
  NormRows rows;
};

}  // namespace

bool match_norm_chain(const KernelQuery& q) {
  NormChain chain;
  NormRows rows;
  return q.out[0].dtype == DType::kF32 && read_rows(q, &chain, &rows);
}

Status plan_norm_chain(const KernelQuery& q, KernelPlan* plan) {
  Plan p{HWY_DYNAMIC_DISPATCH(find_norm_rows)(), {}, {}};
  if (!read_rows(q, &p.chain, &p.rows))
    return Status(Code::kInternal, "FusedElementwise: not the chain of a norm");
  plan->keep(p);
  return {};
}

Status run_norm_chain(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                      const void*) {
  const auto& plan = ctx.plan->kept<Plan>();
  const auto data = [&](int input) {
    return input == kNone ? nullptr : in[static_cast<size_t>(input)].as<float>();
  };
  NormRows rows = plan.rows;
  rows.x = data(plan.chain.x);
  rows.w = data(plan.chain.weight);
  rows.b = data(plan.chain.bias);
  rows.y = out[0].as<float>();
  parallel_items(ctx.pool, out[0].numel() / rows.n, 4 * rows.n,
                 [&](int64_t begin, int64_t end) { plan.body(rows, begin, end); });
  return {};
}

}  // namespace wick
#endif
