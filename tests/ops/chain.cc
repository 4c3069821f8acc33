#include <bit>

#include "runtime/ops/chain.h"
#include "tests/ops/rows.h"

namespace wick::test {
namespace {

using Op = OpId;

constexpr int kC = kChainFirstConstant, kS = kChainFirstStep;

ChainAttrs chain(std::initializer_list<int64_t> steps, std::initializer_list<double> constants = {},
                 int64_t row_dims = 0) {
  ChainAttrs a;
  a.steps = IntList<kChainSteps>(steps);
  for (double v : constants) a.constants.values[a.constants.count++] = std::bit_cast<int64_t>(v);
  a.row_dims = row_dims;
  return a;
}

// x * sigmoid(x)
ChainAttrs silu() { return chain({chain_word(Op::kSigmoid, 0), chain_word(Op::kMul, 0, kS)}); }
ChainAttrs layer_norm(int64_t row_dims) {
  return chain({chain_word(Op::kReduceMean, 0), chain_word(Op::kSub, 0, kS),
                chain_word(Op::kPow, kS + 1, kC), chain_word(Op::kReduceMean, kS + 2),
                chain_word(Op::kAdd, kS + 3, kC + 1), chain_word(Op::kSqrt, kS + 4),
                chain_word(Op::kDiv, kS + 1, kS + 5), chain_word(Op::kMul, kS + 6, 1),
                chain_word(Op::kAdd, kS + 7, 2)},
               {2.0, 1e-5}, row_dims);
}
// Every unary op, one behind the other; what leaves their domain is brought back by sin and clip.
ChainAttrs unaries() {
  ChainAttrs a = chain({}, {-0.9, 0.9, 0.1, 0.5});
  constexpr Op kOps[] = {Op::kSigmoid,    Op::kTanh,  Op::kGelu,  Op::kSilu,        Op::kHardSwish,
                         Op::kSoftplus,   Op::kLog,   Op::kRelu,  Op::kExp,         Op::kSqrt,
                         Op::kReciprocal, Op::kErf,   Op::kSin,   Op::kCos,         Op::kNeg,
                         Op::kAbs,        Op::kLog1p, Op::kExpm1, Op::kFloor,       Op::kSin,
                         Op::kLeakyRelu,  Op::kElu,   Op::kClip,  Op::kHardSigmoid, Op::kCeil,
                         Op::kCos,        Op::kRound, Op::kSign,  Op::kGelu};
  int last = 0, flag = 0;
  for (Op op : kOps) {
    const bool two = op == Op::kClip || op == Op::kHardSigmoid;
    a.steps.values[a.steps.count] =
        chain_word(op, last, two ? kC : kC + 2, kC + (op == Op::kClip ? 1 : 3), flag);
    flag = op == Op::kSign ? 1 : 0;
    last = kS + static_cast<int>(a.steps.count++);
  }
  return a;
}

}  // namespace

WICK_TEST_ROW(
    FusedElementwise,
    [] {
      const ChainAttrs swish = silu();
      // where(x < y or not (x >= c), max(x, y) / c, min(x, c)) + float(x == y)
      const ChainAttrs choice =
          chain({chain_word(Op::kLess, 0, 1), chain_word(Op::kGreaterOrEqual, 0, kC),
                 chain_word(Op::kNot, kS + 1), chain_word(Op::kOr, kS, kS + 2),
                 chain_word(Op::kMax, 0, 1), chain_word(Op::kDiv, kS + 4, kC + 1),
                 chain_word(Op::kMin, 0, kC), chain_word(Op::kWhere, kS + 3, kS + 5, kS + 6),
                 chain_word(Op::kEqual, 0, 1), chain_word(Op::kCast, kS + 8),
                 chain_word(Op::kAdd, kS + 7, kS + 9)},
                {0.5, 3.0});
      const ChainAttrs masks =
          chain({chain_word(Op::kAnd, 1, 2), chain_word(Op::kXor, 3, kS),
                 chain_word(Op::kGreater, 0, kC), chain_word(Op::kLessOrEqual, 0, kC + 1),
                 chain_word(Op::kXor, kS + 2, kS + 3), chain_word(Op::kOr, kS + 1, kS + 4),
                 chain_word(Op::kWhere, kS + 5, 0, kC), chain_word(Op::kSub, kS + 6, 0)},
                {0.25, -0.25});
      // x * scale[C, 1, 1] + shift[C, 1, 1], * gate[N, C, 1, 1], + rows[W]
      const ChainAttrs spread =
          chain({chain_word(Op::kMul, 0, 1), chain_word(Op::kAdd, kS, 2),
                 chain_word(Op::kMul, kS + 1, 3), chain_word(Op::kAdd, kS + 2, 4)});
      const ChainAttrs soft = chain(
          {chain_word(Op::kReduceMax, 0), chain_word(Op::kSub, 0, kS), chain_word(Op::kExp, kS + 1),
           chain_word(Op::kReduceSum, kS + 2), chain_word(Op::kDiv, kS + 2, kS + 3),
           chain_word(Op::kReduceMin, kS + 4), chain_word(Op::kAdd, kS + 4, kS + 5)},
          {}, 1);
      std::vector<Sample> s;
      for (int64_t n : {1, 3, 17, 1023, 1024, 1025, 4099})
        s.push_back(sample("FusedElementwise/swish" + std::to_string(n), {f32({n}, -9, 9)}, swish));
      s.push_back(sample("FusedElementwise/large", {f32({3, 50000}, -9, 9)}, swish));
      s.push_back(sample("FusedElementwise/empty", {f32({3, 0})}, swish));
      s.push_back(sample("FusedElementwise/scalar", {f32({})}, swish));
      s.push_back(sample("FusedElementwise/unaries", {f32({5, 67})}, unaries()));
      s.push_back(sample("FusedElementwise/choice", {f32({3, 41}), f32({41})}, choice));
      s.push_back(sample("FusedElementwise/choice_scalar", {f32({3, 41}), f32({1})}, choice));
      s.push_back(sample("FusedElementwise/one_for_all", {f32({7}), f32({3, 1})}, choice));
      s.push_back(sample("FusedElementwise/masks",
                         {f32({6, 9, 5}), of(DType::kBool, {6, 1, 5}, 0, 1),
                          of(DType::kBool, {9, 1}, 0, 1), of(DType::kBool, {6, 9, 5}, 0, 1)},
                         masks));
      s.push_back(sample("FusedElementwise/one_mask",
                         {f32({6, 9, 5}), of(DType::kBool, {}, 0, 1), of(DType::kBool, {1}, 0, 1),
                          of(DType::kBool, {5}, 0, 1)},
                         masks));
      for (int64_t hw : {1, 7, 33})
        s.push_back(sample(
            "FusedElementwise/spread" + std::to_string(hw),
            {f32({2, 5, hw, hw}), f32({5, 1, 1}), f32({5, 1, 1}), f32({2, 5, 1, 1}), f32({hw})},
            spread));
      for (int64_t n : {1, 5, 16, 100, 4100})
        s.push_back(sample("FusedElementwise/layer_norm" + std::to_string(n),
                           {f32({3, 4, n}), f32({n}), f32({n})}, layer_norm(1)));
      s.push_back(sample("FusedElementwise/layer_norm_two_dims",
                         {f32({5, 6, 9}), f32({6, 9}), f32({6, 1})}, layer_norm(2)));
      s.push_back(sample("FusedElementwise/instance_norm",
                         {f32({2, 3, 5, 7}), f32({3, 1, 1}), f32({2, 1, 1, 1})}, layer_norm(2)));
      s.push_back(
          sample("FusedElementwise/row_of_all", {f32({4, 9}), f32({9}), f32({})}, layer_norm(2)));
      s.push_back(sample("FusedElementwise/many_rows", {f32({700, 65}), f32({65}), f32({65})},
                         layer_norm(1)));
      s.push_back(sample("FusedElementwise/soft", {f32({9, 35}, -30, 30)}, soft));
      return s;
    },
    nullptr, 64);

}  // namespace wick::test
