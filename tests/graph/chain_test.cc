// fuse_elementwise and fuse_norm: which nodes become one op, which must not, and that no bit
// changes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"
#include "graph/rewrite/substitution.h"
#include "runtime/kernels/elementwise/chain_rows.h"
#include "runtime/ops/chain.h"
#include "tests/graph/unfused.h"

namespace wick::ir {
namespace {

size_t count(const Graph& g, OpId op) {
  size_t n = 0;
  for (const Node& node : g.nodes()) n += node.op == op ? 1 : 0;
  return n;
}
size_t live(const Graph& g) {
  size_t n = 0;
  for (const Node& node : g.nodes()) n += node.removed() ? 0 : 1;
  return n;
}
int64_t steps(const Graph& g) {
  int64_t n = 0;
  for (const Node& node : g.nodes()) {
    if (node.op == OpId::kFusedElementwise) n += node.attrs.as<ChainAttrs>().steps.count;
  }
  return n;
}
SymShape dims(std::initializer_list<int64_t> list) {
  SymShape s;
  s.set_rank(static_cast<int>(list.size()));
  int i = 0;
  for (int64_t d : list) s[i++] = SymDim(d);
  return s;
}

class Chains : public testing::Test {
 protected:
  // Ordinary numbers, and here and there what ends in NaN, an infinity, a subnormal or -0.
  HostTensor floats(const Shape& shape, bool odd = true) {
    constexpr float kOdd[] = {std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN(),
                              1e-40f,
                              -0.0f,
                              0.0f,
                              1e30f,
                              -1e30f};
    HostTensor t(DType::kF32, shape);
    for (int64_t i = 0; i < t.numel(); ++i) {
      t.as<float>()[i] = std::uniform_real_distribution<float>(-4, 4)(random_);
      if (odd && random_() % 23 == 0) t.as<float>()[i] = kOdd[random_() % std::size(kOdd)];
    }
    return t;
  }
  HostTensor bools(const Shape& shape) {
    HostTensor t(DType::kBool, shape);
    for (int64_t i = 0; i < t.numel(); ++i) t.as<uint8_t>()[i] = random_() % 2;
    return t;
  }
  static ValueId number(Graph& g, float v, const Shape& shape = {}) {
    return g.add_constant(HostTensor::of<float>(shape, {v}));
  }
  // Optimizes, and neither the plain loops nor the SIMD rows, nor those for chains of arithmetic
  // where they take one, may give other bits than before.
  Graph optimized(const Graph& g, const std::vector<HostTensor>& in) {
    Graph after = g;
    EXPECT_EQ(optimize(after).numerics, Numerics::kExact);
    const std::vector<HostTensor> want = run(g, in);
    for (const char* rows : {"reference", "SIMD", "arithmetic"}) {
      InterpreterOptions options;
      if (rows[0] == 'S') options.kernels = {&kCpuKernels, &kReferenceKernels};
      if (rows[0] == 'a') options.kernels = {&kArithmeticChains, &kReferenceKernels};
      const std::vector<HostTensor> got = run(after, in, options);
      for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_TRUE(same_bits(got[i], want[i])) << "output " << i << ", " << rows << "\n"
                                                << print(after);
      }
    }
    EXPECT_EQ(print(parse_graph(print(after, true)), true), print(after, true));
    expect_unfused(after, in, want);
    return after;
  }

  std::mt19937 random_{5};
};

TEST_F(Chains, ActivationsByParts) {
  const auto one_op = [&](const std::function<ValueId(Graph&, ValueId)>& make, int64_t want) {
    Graph g;
    const SymDim n = g.symbol("n");
    SymShape shape = dims({0, 3, 37});
    shape[0] = n;
    const ValueId x = g.add_input("x", DType::kF32, shape);
    g.add_output("y", make(g, x));
    const Graph after = optimized(g, {floats({5, 3, 37})});
    EXPECT_EQ(live(after), 1u) << print(after);
    EXPECT_EQ(steps(after), want) << print(after);
  };
  one_op(
      [](Graph& g, ValueId x) {  // swish
        return g.emit(OpId::kMul, {x, g.emit(OpId::kSigmoid, {x})});
      },
      2);
  one_op(
      [](Graph& g, ValueId x) {  // hard swish
        const ValueId up = g.emit(OpId::kAdd, {x, number(g, 3)});
        const ValueId cut = g.emit(OpId::kClip, {up, number(g, 0), number(g, 6)});
        return g.emit(OpId::kDiv, {g.emit(OpId::kMul, {x, cut}), number(g, 6, {1})});
      },
      4);
  one_op(
      [](Graph& g, ValueId x) {  // gelu, by erf
        const ValueId e = g.emit(OpId::kErf, {g.emit(OpId::kDiv, {x, number(g, 1.41421356f)})});
        const ValueId h = g.emit(OpId::kMul, {x, g.emit(OpId::kAdd, {e, number(g, 1)})});
        return g.emit(OpId::kMul, {h, number(g, 0.5f)});
      },
      5);
  one_op(
      [](Graph& g, ValueId x) {  // gelu, by tanh
        const ValueId cube = g.emit(OpId::kPow, {x, number(g, 3)});
        const ValueId in =
            g.emit(OpId::kAdd, {x, g.emit(OpId::kMul, {cube, number(g, 0.044715f)})});
        const ValueId t = g.emit(OpId::kTanh, {g.emit(OpId::kMul, {in, number(g, 0.79788456f)})});
        const ValueId h = g.emit(OpId::kAdd, {t, number(g, 1)});
        return g.emit(OpId::kMul, {g.emit(OpId::kMul, {x, number(g, 0.5f)}), h});
      },
      8);
  one_op(
      [](Graph& g, ValueId x) {  // mish
        return g.emit(OpId::kMul, {x, g.emit(OpId::kTanh, {g.emit(OpId::kSoftplus, {x})})});
      },
      3);
  one_op(
      [](Graph& g, ValueId x) {  // celu
        const ValueId e = g.emit(OpId::kExp, {g.emit(OpId::kDiv, {x, number(g, 1.5f)})});
        const ValueId m =
            g.emit(OpId::kMul, {g.emit(OpId::kSub, {e, number(g, 1)}), number(g, 1.5f)});
        return g.emit(OpId::kAdd, {g.emit(OpId::kMax, {x, number(g, 0)}),
                                   g.emit(OpId::kMin, {m, number(g, 0)})});
      },
      7);
  one_op(
      [](Graph& g, ValueId x) {  // elu
        const ValueId e = g.emit(OpId::kSub, {g.emit(OpId::kExp, {x}), number(g, 1)});
        return g.emit(OpId::kWhere, {g.emit(OpId::kGreater, {x, number(g, 0)}), x, e});
      },
      4);
  one_op(
      [](Graph& g, ValueId x) {  // squares, by an exponent of integers
        const ValueId two = g.add_constant(HostTensor::of<int64_t>({}, {2}));
        return g.emit(OpId::kSqrt, {g.emit(OpId::kPow, {x, two})});
      },
      2);
}

// A chain that normalises a model's input needs four loop bodies, not those of every op.
TEST_F(Chains, OfArithmeticHaveARowOfTheirOwn) {
  for (OpId last : {OpId::kDiv, OpId::kAdd, OpId::kMul, OpId::kSub, OpId::kMax}) {
    Graph g;
    const ValueId x = g.add_input("x", DType::kF32, dims({2, 3, 700}));
    const ValueId mean = g.add_constant(floats({3, 1}, false)), scale = number(g, 0.3530f);
    const ValueId c = g.emit(OpId::kSub, {g.emit(OpId::kDiv, {x, number(g, 255)}), mean});
    g.add_output("y", g.emit(last, {c, scale}));
    const std::vector<HostTensor> in = {floats({2, 3, 700})};
    const Graph after = optimized(g, in);
    ASSERT_EQ(live(after), 1u) << print(after);
    InterpreterOptions alone;
    alone.kernels = {&kArithmeticChains};
    if (last == OpId::kMax) {
      EXPECT_ANY_THROW(run(after, in, alone)) << "the row takes a chain with a body it lacks";
    } else {
      EXPECT_TRUE(same_bits(run(after, in, alone)[0], run(g, in)[0])) << print(after);
    }
  }
}

TEST_F(Chains, NormsByParts) {
  // form: 0 a quotient, 1 a reciprocal; centered: layer norm, else RMS norm
  const auto norm = [](Graph& g, ValueId x, int form, bool centered, bool power, int64_t axes) {
    ReduceAttrs a;
    for (int64_t d = axes; d > 0; --d) a.axes.values[a.axes.count++] = -d;
    ValueId d = x;
    if (centered) d = g.emit(OpId::kSub, {x, g.emit(OpId::kReduceMean, a, {x})});
    const ValueId square =
        power ? g.emit(OpId::kPow, {d, number(g, 2)}) : g.emit(OpId::kMul, {d, d});
    const ValueId var =
        g.emit(OpId::kAdd, {g.emit(OpId::kReduceMean, a, {square}), number(g, 1e-5f)});
    const ValueId root = g.emit(OpId::kSqrt, {var});
    return form == 0 ? g.emit(OpId::kDiv, {d, root})
                     : g.emit(OpId::kMul, {g.emit(OpId::kReciprocal, {root}), d});
  };
  for (int form : {0, 1}) {
    for (bool centered : {false, true}) {
      for (bool power : {false, true}) {
        for (bool affine : {false, true}) {
          for (int64_t row : {16, 33, 4100}) {
            Graph g;
            const SymDim n = g.symbol("n");
            SymShape shape = dims({0, 3, row});
            shape[0] = n;
            const ValueId x = g.add_input("x", DType::kF32, shape);
            ValueId y = norm(g, x, form, centered, power, 1);
            if (affine) {
              y = g.emit(OpId::kMul, {g.add_constant(floats({row}, false)), y});
              y = g.emit(OpId::kAdd, {y, g.add_constant(floats({row}, false))});
            }
            g.add_output("y", y);
            const Graph after = optimized(g, {floats({2, 3, row}, row == 33)});
            EXPECT_EQ(live(after), 1u) << print(after);
          }
        }
      }
    }
  }
  // Instance norm: the norm of a plane, with a scale per channel.
  Graph g;
  const ValueId x = g.add_input("x", DType::kF32, dims({2, 3, 5, 7}));
  const ValueId y = norm(g, x, 0, true, false, 2);
  const ValueId scaled = g.emit(OpId::kMul, {y, g.add_constant(floats({3, 1, 1}, false))});
  g.add_output("y", scaled);
  EXPECT_EQ(live(optimized(g, {floats({2, 3, 5, 7})})), 1u);
}

TEST_F(Chains, WhatOthersReadStays) {
  for (bool output : {false, true}) {
    Graph g;
    const ValueId x = g.add_input("x", DType::kF32, dims({4, 9}));
    const ValueId s = g.emit(OpId::kSigmoid, {x});
    const ValueId m = g.emit(OpId::kMul, {x, s});
    g.add_output("y", g.emit(OpId::kAdd, {m, number(g, 1)}));
    if (output) {
      g.add_output("s", s);
    } else {
      g.add_output("t", g.emit(OpId::kTranspose, TransposeAttrs{{1, 0}}, {s}));
    }
    const Graph after = optimized(g, {floats({4, 9})});
    EXPECT_EQ(count(after, OpId::kSigmoid), 1u) << print(after);
    EXPECT_EQ(steps(after), 2);
  }
}

TEST_F(Chains, WhatIsComputedForFewIsNotComputedForAll) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kF32, dims({2, 5, 9, 9}));
  const ValueId gate = g.add_input("gate", DType::kF32, dims({2, 5, 1, 1}));
  const ValueId open = g.emit(OpId::kSigmoid, {gate});
  const ValueId y = g.emit(OpId::kMul, {x, open});
  g.add_output("y", g.emit(OpId::kRelu, {y}));
  const Graph after = optimized(g, {floats({2, 5, 9, 9}), floats({2, 5, 1, 1})});
  EXPECT_EQ(count(after, OpId::kSigmoid), 1u);
  EXPECT_EQ(steps(after), 2);
}

TEST_F(Chains, OtherTypesStay) {
  for (DType t : {DType::kF16, DType::kBF16, DType::kF64, DType::kI32}) {
    Graph g;
    const ValueId x = g.add_input("x", t, dims({4, 9}));
    const ValueId y = g.emit(OpId::kMul, {g.emit(OpId::kNeg, {x}), x});
    g.add_output("y", g.emit(OpId::kAdd, {y, x}));
    Graph after = g;
    optimize(after);
    EXPECT_EQ(live(after), 3u);
  }
}

TEST_F(Chains, OfBoolsAlone) {
  Graph g;
  const ValueId mask = g.add_input("mask", DType::kBool, dims({4, 9}));
  const ValueId x = g.add_input("x", DType::kF32, dims({4, 9}));
  const ValueId off = g.emit(OpId::kNot, {mask});
  g.add_output("a", g.emit(OpId::kWhere, {off, number(g, -1e9f), number(g, 0)}));
  const ValueId less = g.emit(OpId::kLess, {x, number(g, 0)});
  g.add_output("b", g.emit(OpId::kWhere, {less, number(g, 2), number(g, 1)}));
  const Graph after = optimized(g, {bools({4, 9}), floats({4, 9})});
  EXPECT_EQ(count(after, OpId::kNot), 1u) << print(after);
  EXPECT_EQ(steps(after), 2);
}

TEST_F(Chains, ANumberThatMakesTheRankIsKept) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kF32, dims({9}));
  const ValueId y = g.emit(OpId::kMul, {g.emit(OpId::kExp, {x}), number(g, 2, {1, 1})});
  g.add_output("y", g.emit(OpId::kNeg, {y}));
  const Graph after = optimized(g, {floats({9})});
  EXPECT_EQ(after.value(after.outputs()[0].value).shape.rank(), 2);
}

TEST_F(Chains, LongOnesAreCut) {
  Graph g;
  ValueId v = g.add_input("x", DType::kF32, dims({100}));
  for (int i = 0; i < 200; ++i)
    v = g.emit(OpId::kAdd, {g.emit(OpId::kSin, {v}), number(g, static_cast<float>(i))});
  g.add_output("y", v);
  const Graph after = optimized(g, {floats({100})});
  EXPECT_EQ(steps(after), 400);
  EXPECT_LE(live(after), 30u);
}

// Any graph of small ops: shapes that broadcast, reductions, bools, values read once and often.
TEST_F(Chains, AnyGraphKeepsItsBits) {
  constexpr OpId kUnary[] = {OpId::kSigmoid,    OpId::kTanh,     OpId::kRelu,  OpId::kNeg,
                             OpId::kAbs,        OpId::kExp,      OpId::kSqrt,  OpId::kErf,
                             OpId::kSilu,       OpId::kFloor,    OpId::kRound, OpId::kSign,
                             OpId::kReciprocal, OpId::kHardSwish};
  constexpr OpId kBinary[] = {OpId::kAdd, OpId::kSub, OpId::kMul, OpId::kDiv,
                              OpId::kPow, OpId::kMax, OpId::kMin};
  constexpr OpId kCompare[] = {OpId::kEqual, OpId::kLess, OpId::kLessOrEqual, OpId::kGreater,
                               OpId::kGreaterOrEqual};
  constexpr OpId kReduce[] = {OpId::kReduceMean, OpId::kReduceSum, OpId::kReduceMax,
                              OpId::kReduceMin};
  int64_t fused = 0, reductions = 0;
  for (int round = 0; round < 300; ++round) {
    const auto pick = [&](size_t n) { return random_() % n; };
    constexpr int64_t kLast[] = {1, 3, 16, 33, 49, 257, 1025};
    const int64_t a = 1 + static_cast<int64_t>(pick(3)), b = 1 + static_cast<int64_t>(pick(5)),
                  c = kLast[pick(std::size(kLast))];
    const Shape shapes[] = {{a, b, c}, {a, b, c}, {a, b, c}, {c},    {b, c},
                            {b, 1},    {a, 1, 1}, {a, b, 1}, {1, c}, {}};
    Graph g;
    std::vector<HostTensor> in;
    std::vector<ValueId> values, flags;
    for (int i = 0; i < 4; ++i) {
      in.push_back(floats(shapes[i == 0 ? 0 : pick(std::size(shapes))], round % 3 != 0));
      values.push_back(
          g.add_input("x" + std::to_string(i), DType::kF32, to_symbolic(in.back().shape())));
    }
    in.push_back(bools(shapes[pick(std::size(shapes))]));
    flags.push_back(g.add_input("flag", DType::kBool, to_symbolic(in.back().shape())));
    for (int i = 0; i < 14; ++i) {
      const auto any = [&] {  // mostly what was just made
        return values[pick(3) != 0 ? values.size() - 1 - pick(std::min<size_t>(3, values.size()))
                                   : pick(values.size())];
      };
      const auto other = [&] {
        constexpr float kNumbers[] = {0.5f, 2, 3, -1, 1e-5f, 6, -0.0f};
        return pick(3) == 0 ? number(g, kNumbers[pick(std::size(kNumbers))]) : any();
      };
      switch (pick(9)) {
        case 0:
        case 1: values.push_back(g.emit(kUnary[pick(std::size(kUnary))], {any()})); break;
        case 2: {
          ReduceAttrs r;
          const ValueId x = any();
          const auto rank = static_cast<size_t>(g.value(x).shape.rank());
          if (rank == 0) break;
          for (size_t d = 1 + pick(rank); d > 0; --d)
            r.axes.values[r.axes.count++] = -static_cast<int64_t>(d);
          values.push_back(g.emit(kReduce[pick(4)], r, {x}));
          break;
        }
        case 3: flags.push_back(g.emit(kCompare[pick(5)], {any(), other()})); break;
        case 4:
          values.push_back(g.emit(OpId::kWhere, {flags[pick(flags.size())], any(), other()}));
          break;
        case 5: values.push_back(g.emit(OpId::kClip, ClipAttrs{-1.5, 2}, {any()})); break;
        case 6: {  // a slope broadcasts to x, and not x to it
          const ValueId x = any(), y = other();
          const bool fits = g.value(y).shape.rank() == 0 || same_shape(g, x, y);
          values.push_back(g.emit(OpId::kPRelu, {x, fits ? y : number(g, -0.25f)}));
          break;
        }
        default: {
          const ValueId x = any(), y = other();
          const bool swap = pick(2) == 0;
          values.push_back(g.emit(kBinary[pick(std::size(kBinary))], {swap ? y : x, swap ? x : y}));
        }
      }
    }
    g.add_output("y", values.back());
    if (pick(2) == 0) g.add_output("z", values[values.size() - 2]);
    const Graph after = optimized(g, in);
    ASSERT_FALSE(HasFailure()) << "round " << round << "\n" << print(g);
    fused += steps(after);
    for (const Node& n : after.nodes()) {
      if (n.op == OpId::kFusedElementwise && n.attrs.as<ChainAttrs>().row_dims > 0) ++reductions;
    }
  }
  EXPECT_GT(fused, 300);
  EXPECT_GT(reductions, 20);
}

// A program of a file may say anything.
TEST_F(Chains, WrongProgramsAreErrors) {
  const auto run_chain = [&](const ChainAttrs& a, std::vector<HostTensor> in) {
    return run_node(OpId::kFusedElementwise, &a, in, 1);
  };
  const HostTensor x = floats({3, 4}), flag = bools({3, 4});
  const auto chain = [](std::initializer_list<int64_t> list, int64_t row_dims = 0) {
    ChainAttrs a;
    a.steps = IntList<kChainSteps>(list);
    a.row_dims = row_dims;
    return a;
  };
  const int s = kChainFirstStep, c = kChainFirstConstant;
  const int64_t neg = chain_word(OpId::kNeg, 0);
  EXPECT_NO_THROW(run_chain(chain({neg}), {x}));
  const std::pair<ChainAttrs, std::vector<HostTensor>> wrong[] = {
      {chain({}), {x}},
      {chain({-1}), {x}},
      {chain({chain_word(OpId::kConv, 0)}), {x}},
      {chain({chain_word(OpId::kNeg, 1)}), {x}},
      {chain({chain_word(OpId::kNeg, s)}), {x}},
      {chain({neg, chain_word(OpId::kNeg, s + 1)}), {x}},
      {chain({neg, neg}), {x}},
      {chain({neg}), {x, x}},
      {chain({neg}), {flag}},
      {chain({chain_word(OpId::kNot, 0)}), {flag}},
      {chain({chain_word(OpId::kLess, 0, 0)}), {x}},
      {chain({chain_word(OpId::kWhere, 0, 0, 0)}), {x}},
      {chain({chain_word(OpId::kAdd, 0, c)}), {x}},
      {chain({chain_word(OpId::kLeakyRelu, 0, 0)}), {x}},
      {chain({chain_word(OpId::kReduceSum, 0)}), {x}},
      {chain({chain_word(OpId::kReduceSum, 0)}, 3), {x}},
      {chain({chain_word(OpId::kReduceSum, 0)}, 1), {x}},
      {chain({chain_word(OpId::kReduceSum, 0), chain_word(OpId::kAdd, s, 1)}, 1),
       {floats({3, 1}), x}},
      {chain({chain_word(OpId::kAdd, 0, 1)}), {x, floats({5})}},
      {chain({chain_word(OpId::kAdd, 0, 1)}), {x, HostTensor(DType::kF64, {4})}}};
  int at = 0;
  for (const auto& [attrs, in] : wrong) {
    EXPECT_ANY_THROW(run_chain(attrs, in)) << "program " << at;
    ++at;
  }
}

}  // namespace
}  // namespace wick::ir
