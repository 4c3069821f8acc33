// fuse_attention fires on the forms that exporters write and changes no bit: the original graph on
// plain loops is compared with the fused one on plain loops and on the SIMD kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"
#include "tests/graph/unfused.h"

namespace wick::ir {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

size_t count(const Graph& g, OpId op) {
  size_t n = 0;
  for (const Node& node : g.nodes()) n += node.op == op ? 1 : 0;
  return n;
}

class Draw {
 public:
  explicit Draw(uint32_t seed) : engine_(seed) {}
  int64_t of(std::initializer_list<int64_t> list) { return list.begin()[engine_() % list.size()]; }
  bool yes() { return engine_() % 2 == 0; }
  HostTensor floats(const Shape& s, DType dtype = DType::kF32, float size = 2) {
    HostTensor t(dtype, s);
    for (int64_t i = 0; i < t.numel(); ++i) {
      const float v = size * (static_cast<float>(engine_() % 20001) / 10000 - 1);
      dtype == DType::kF64 ? void(t.as<double>()[i] = v) : void(t.as<float>()[i] = v);
    }
    return t;
  }
  HostTensor bools(const Shape& s) {
    HostTensor t(DType::kBool, s);
    for (int64_t i = 0; i < t.numel(); ++i) t.as<bool>()[i] = engine_() % 3 != 0;
    return t;
  }

 private:
  std::mt19937 engine_;
};

HostTensor causal(int64_t rows, int64_t keys) {
  HostTensor t(DType::kBool, Shape{rows, keys});
  for (int64_t i = 0; i < t.numel(); ++i) t.as<bool>()[i] = i % keys <= i / keys + keys - rows;
  return t;
}

// A graph in the making, with the values of its inputs.
struct Case {
  Graph g;
  std::vector<HostTensor> in;
  DType dtype = DType::kF32;

  ValueId input(HostTensor t) {
    in.push_back(std::move(t));
    return g.add_input("x" + std::to_string(in.size()), in.back().dtype(),
                       to_symbolic(in.back().shape()));
  }
  ValueId number(double v) {
    return g.add_constant(dtype == DType::kF64
                              ? HostTensor::of<double>({}, {v})
                              : HostTensor::of<float>({}, {static_cast<float>(v)}));
  }
  ValueId op(OpId id, std::vector<ValueId> inputs) { return g.emit(id, std::move(inputs)); }
  ValueId turned(ValueId v, DimList perm) {
    return g.emit(OpId::kTranspose, TransposeAttrs{perm}, {v});
  }
  ValueId shaped(ValueId v, const Shape& s) {
    ReshapeAttrs a;
    for (int i = 0; i < s.rank(); ++i) a.shape.values[a.shape.count++] = s[i];
    return g.emit(OpId::kReshape, a, {v});
  }
  ValueId softmax(ValueId v) { return g.emit(OpId::kSoftmax, AxisAttrs{-1}, {v}); }
};

// Compares the graph as read, on plain loops, with the fused one on both kernel sets.
Graph check(const Case& c, size_t fused, const std::string& what) {
  Graph after = c.g;
  EXPECT_EQ(optimize(after).numerics, Numerics::kExact);
  EXPECT_EQ(count(after, OpId::kFusedAttention), fused) << what << "\n" << print(after);
  const std::vector<HostTensor> want = run(c.g, c.in), got = run(after, c.in);
  InterpreterOptions simd;
  simd.kernels = {&kCpuKernels, &kReferenceKernels};
  const std::vector<HostTensor> fast = run(after, c.in, simd);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(same_bits(got[i], want[i])) << what << ": plain loops\n" << print(after);
    EXPECT_TRUE(same_bits(fast[i], want[i])) << what << ": SIMD\n" << print(after);
  }
  expect_unfused(after, c.in, want);
  return after;
}

struct Sizes {
  int64_t batch = 2, heads = 3, rows = 9, keys = 21, size = 8, values = 8;
};

// [B, S, heads * n] as [B, heads, S, n].
ValueId heads_of(Case& c, ValueId v, const Sizes& s, int64_t rows, int64_t n) {
  return c.turned(c.shaped(v, {s.batch, rows, s.heads, n}), {0, 2, 1, 3});
}
ValueId merged(Case& c, ValueId v, const Sizes& s) {
  return c.shaped(c.turned(v, {0, 2, 1, 3}), {s.batch, s.rows, s.heads * s.values});
}
struct Qkv {
  ValueId q, k, v;  // [B, heads, S, n]; k turned: [B, heads, n, keys]
};
Qkv projected(Case& c, Draw& d, const Sizes& s) {
  const ValueId q = c.input(d.floats({s.batch, s.rows, s.heads * s.size}, c.dtype));
  const ValueId k = c.input(d.floats({s.batch, s.keys, s.heads * s.size}, c.dtype));
  const ValueId v = c.input(d.floats({s.batch, s.keys, s.heads * s.values}, c.dtype));
  const ValueId keys = heads_of(c, k, s, s.keys, s.size);
  return {heads_of(c, q, s, s.rows, s.size), c.turned(keys, {0, 1, 3, 2}),
          heads_of(c, v, s, s.keys, s.values)};
}

// All that moves data around attention goes into it: not a transpose is left.
void expect_nothing_moves(const Graph& g) {
  EXPECT_EQ(count(g, OpId::kTranspose) + count(g, OpId::kExpand) + count(g, OpId::kMatMul) +
                count(g, OpId::kSoftmax) + count(g, OpId::kMul) + count(g, OpId::kDiv),
            0u)
      << print(g);
}

TEST(FuseAttention, ScoresDividedThenAMaskAdded) {  // BERT, as PyTorch exports it
  Draw d(1);
  const Sizes s;
  Case c;
  const Qkv x = projected(c, d, s);
  HostTensor mask = d.floats({s.batch, 1, 1, s.keys}, DType::kF32, 1);
  for (int64_t i = 0; i < mask.numel(); ++i) mask.as<float>()[i] = i % 3 == 1 ? -10000 : 0;
  ValueId y = c.op(OpId::kDiv, {c.op(OpId::kMatMul, {x.q, x.k}), c.number(std::sqrt(8.0))});
  y = c.softmax(c.op(OpId::kAdd, {y, c.input(mask)}));
  c.g.add_output("y", merged(c, c.op(OpId::kMatMul, {y, x.v}), s));
  expect_nothing_moves(check(c, 1, "divided"));
}

TEST(FuseAttention, RootsOfTheScaleOnBothSides) {  // scaled_dot_product_attention, opset 14 and up
  for (bool masked : {false, true}) {
    Draw d(2);
    Sizes s;
    s.rows = s.keys = 50;
    Case c;
    const Qkv x = projected(c, d, s);
    const ValueId root = c.number(std::sqrt(std::sqrt(1 / 8.0)));
    ValueId y = c.op(OpId::kMatMul, {c.op(OpId::kMul, {x.q, root}), c.op(OpId::kMul, {x.k, root})});
    if (masked) y = c.op(OpId::kWhere, {c.g.add_constant(causal(50, 50)), y, c.number(-kInf)});
    c.g.add_output("y", merged(c, c.op(OpId::kMatMul, {c.softmax(y), x.v}), s));
    expect_nothing_moves(check(c, 1, "roots"));
  }
}

TEST(FuseAttention, CausalWhereThenAMask) {  // GPT-2
  Draw d(3);
  Sizes s;
  s.rows = s.keys = 37;
  Case c;
  const Qkv x = projected(c, d, s);
  ValueId y = c.op(OpId::kDiv, {c.op(OpId::kMatMul, {x.q, x.k}), c.number(std::sqrt(8.0))});
  HostTensor hidden = causal(37, 37);
  for (int64_t i = 0; i < hidden.numel(); ++i) hidden.as<bool>()[i] = !hidden.as<bool>()[i];
  y = c.op(OpId::kWhere, {c.g.add_constant(hidden), c.number(-3.4028234e38), y});
  y = c.op(OpId::kAdd, {c.input(d.floats({s.batch, 1, 1, s.keys})), y});
  c.g.add_output("y", merged(c, c.op(OpId::kMatMul, {c.softmax(y), x.v}), s));
  expect_nothing_moves(check(c, 1, "GPT-2"));
}

TEST(FuseAttention, ThreeDimsAndTwo) {  // bmm of [B * heads, S, n], and one head
  for (bool batched : {true, false}) {
    Draw d(4);
    Case c;
    const auto in = [&](int64_t rows, int64_t n) {
      return c.input(d.floats(batched ? Shape{6, rows, n} : Shape{rows, n}));
    };
    const ValueId q = c.op(OpId::kMul, {in(9, 7), c.number(0.37)});
    const ValueId k = c.turned(in(21, 7), batched ? DimList{0, 2, 1} : DimList{1, 0});
    const ValueId y = c.softmax(c.op(OpId::kMatMul, {q, k}));
    c.g.add_output("y", c.op(OpId::kMatMul, {y, in(21, 5)}));
    expect_nothing_moves(check(c, 1, "flat"));
  }
}

TEST(FuseAttention, RepeatedKeyHeads) {  // repeat_kv of Llama and its kin
  Draw d(5);
  const Sizes s{2, 6, 9, 21, 8, 8};
  Case c;
  const ValueId q = heads_of(c, c.input(d.floats({2, 9, 48})), s, 9, 8);
  const auto repeated = [&] {
    ValueId v = c.turned(c.shaped(c.input(d.floats({2, 21, 16})), {2, 21, 2, 8}), {0, 2, 1, 3});
    v = c.g.emit(OpId::kUnsqueeze, AxesAttrs{{2}}, {v});
    v = c.g.emit(OpId::kExpand, ShapeAttrs{{2, 2, 3, 21, 8}}, {v});
    return c.shaped(v, {2, 6, 21, 8});
  };
  const ValueId k = c.turned(repeated(), {0, 1, 3, 2});
  ValueId y = c.op(OpId::kMul, {c.op(OpId::kMatMul, {q, k}), c.number(0.35)});
  y = c.softmax(c.op(OpId::kAdd, {y, c.input(d.floats({2, 1, 9, 21}))}));
  c.g.add_output("y", merged(c, c.op(OpId::kMatMul, {y, repeated()}), s));
  expect_nothing_moves(check(c, 1, "repeated"));
}

TEST(FuseAttention, OneTokenWithACache) {
  Draw d(6);
  Case c;
  const auto cached = [&] {
    const ValueId past = c.input(d.floats({1, 4, 300, 32})), now = c.input(d.floats({1, 4, 1, 32}));
    const ValueId all = c.g.emit(OpId::kConcat, AxisAttrs{2}, {past, now});
    c.g.add_output("present" + std::to_string(c.in.size()), all);
    return all;
  };
  const ValueId q = c.input(d.floats({1, 4, 1, 32})), k = cached(), v = cached();
  ValueId y = c.op(OpId::kMatMul, {q, c.turned(k, {0, 1, 3, 2})});
  y = c.softmax(c.op(OpId::kDiv, {y, c.number(std::sqrt(32.0))}));
  c.g.add_output("y", c.op(OpId::kMatMul, {y, v}));
  expect_nothing_moves(check(c, 1, "cache"));
}

// `own`: the mask says nothing of how many keys there are, as where a cache was appended to.
TEST(FuseAttention, SizesThatAreOpen) {
  for (bool own : {false, true}) {
    Draw d(7);
    Case c;
    const SymDim batch = c.g.symbol("batch"), rows = c.g.symbol("rows"), keys = c.g.symbol("keys");
    const auto in = [&](const char* name) {
      c.in.push_back(d.floats({3, 11, 4, 16}));
      return c.g.add_input(name, DType::kF32, {batch, rows, SymDim(4), SymDim(16)});
    };
    const ValueId q = c.turned(in("q"), {0, 2, 1, 3}), k = c.turned(in("k"), {0, 2, 3, 1});
    const ValueId v = c.turned(in("v"), {0, 2, 1, 3});
    c.in.push_back(d.floats({3, 1, 1, 11}));
    const ValueId mask =
        c.g.add_input("mask", DType::kF32, {batch, SymDim(1), SymDim(1), own ? keys : rows});
    const ValueId scores = c.op(OpId::kMul, {c.op(OpId::kMatMul, {q, k}), c.number(0.25)});
    const ValueId y = c.softmax(c.op(OpId::kAdd, {scores, mask}));
    c.g.add_output("y", c.turned(c.op(OpId::kMatMul, {y, v}), {0, 2, 1, 3}));
    expect_nothing_moves(check(c, 1, "open"));
  }
}

// Forms that look like attention but are not, or whose values in between have other readers.
TEST(FuseAttention, StaysAwayFromWhatOthersRead) {
  enum { kScoresSeen, kWeightsSeen, kOtherAxis, kMaskTooLarge, kWeightsRight, kHalf, kForms };
  for (int form = 0; form < kForms; ++form) {
    Draw d(8);
    Case c;
    const Shape s{1, 6, 6};
    const auto half = [&](ValueId v) {
      if (form != kHalf) return v;
      return c.g.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(DType::kF16)}, {v});
    };
    const ValueId q = half(c.input(d.floats(s))), k = half(c.input(d.floats(s)));
    const ValueId v = half(c.input(d.floats(s)));
    ValueId y = c.op(OpId::kMatMul, {q, k});
    if (form == kScoresSeen) c.g.add_output("scores", y);
    if (form == kMaskTooLarge) y = c.op(OpId::kAdd, {y, c.input(d.floats({2, 6, 6}))});
    y = c.g.emit(OpId::kSoftmax, AxisAttrs{form == kOtherAxis ? 1 : 2}, {y});
    if (form == kWeightsSeen) c.g.add_output("weights", c.op(OpId::kNeg, {y}));
    y = form == kWeightsRight ? c.op(OpId::kMatMul, {v, y}) : c.op(OpId::kMatMul, {y, v});
    c.g.add_output("y", y);
    check(c, 0, "form " + std::to_string(form));
  }
}

// A mask of a form and its place in the chain.
ValueId masked(Case& c, Draw& d, const Sizes& s, ValueId y) {
  const Shape forms[] = {{s.keys},
                         {1, s.keys},
                         {s.rows, s.keys},
                         {s.rows, 1},
                         {s.batch, 1, 1, s.keys},
                         {1, 1, s.rows, s.keys},
                         {1, s.heads, 1, 1},
                         {s.batch, s.heads, s.rows, s.keys},
                         {}};
  const Shape shape = forms[d.of({0, 1, 2, 3, 4, 5, 6, 7, 8})];
  switch (d.of({0, 1, 2, 3, 4, 5})) {
    case 0: return y;
    case 1: {  // whole rows and single keys of -inf
      HostTensor mask = d.floats(shape);
      for (int64_t i = 0; i < mask.numel(); i += d.of({1, 2, 3, 50})) mask.as<float>()[i] = -kInf;
      return c.op(OpId::kAdd, {c.input(mask), y});
    }
    case 2:
      return c.op(OpId::kWhere, {c.input(d.bools(shape)), y, c.number(d.yes() ? -kInf : -1e4)});
    case 3: return c.op(OpId::kWhere, {c.input(d.bools(shape)), c.number(d.yes() ? -kInf : -2), y});
    case 4: return c.op(OpId::kWhere, {c.input(causal(s.rows, s.keys)), y, c.number(-kInf)});
    default: {
      const ValueId cap = c.number(1.5);
      return c.op(OpId::kMul, {c.op(OpId::kTanh, {c.op(OpId::kDiv, {y, cap})}), cap});
    }
  }
}

TEST(FuseAttention, KeepsTheBitsOfRandomGraphs) {
  for (uint32_t seed = 0; seed < 160; ++seed) {
    Draw d(seed);
    Sizes s;
    s.batch = d.of({1, 2}), s.heads = d.of({1, 3, 4});
    s.rows = d.of({1, 2, 5, 17, 33, 130}), s.keys = d.of({1, 7, 48, 49, 100, 260});
    s.size = d.of({1, 3, 8, 20, 64}), s.values = d.of({1, 5, 16, 48, 65});
    Case c;
    const Qkv x = projected(c, d, s);
    if (seed % 4 == 3) {  // values that a weight of 0 does not take away
      for (int64_t i = 0; i < 3; ++i) {
        HostTensor& v = c.in[2];
        v.as<float>()[(seed * 7919u + static_cast<uint32_t>(i) * 104729u) %
                      static_cast<uint32_t>(v.numel())] = i == 0   ? kInf
                                                          : i == 1 ? -0.0f
                                                                   : std::nanf("");
      }
    }
    ValueId q = x.q, k = x.k;
    if (d.yes()) q = c.op(OpId::kMul, {q, c.number(0.7)});
    if (d.yes()) k = c.op(OpId::kDiv, {k, c.number(1.7)});
    ValueId y = c.op(OpId::kMatMul, {q, k});
    if (d.yes()) y = c.op(OpId::kMul, {c.number(0.3), y});
    y = masked(c, d, s, masked(c, d, s, y));
    y = c.softmax(y);
    if (seed % 5 == 0) {  // a row that sees nothing reads zeros
      y = c.op(OpId::kWhere, {c.input(d.bools({s.batch, 1, s.rows, 1})), c.number(0), y});
    }
    c.g.add_output("y", merged(c, c.op(OpId::kMatMul, {y, x.v}), s));
    check(c, 1, "seed " + std::to_string(seed));
  }
}

TEST(FuseAttention, KeepsTheBitsInDouble) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    Draw d(seed);
    Sizes s;
    s.rows = d.of({1, 5, 17}), s.keys = d.of({1, 7, 49});
    Case c;
    c.dtype = DType::kF64;
    const Qkv x = projected(c, d, s);
    ValueId y = c.op(OpId::kDiv, {c.op(OpId::kMatMul, {x.q, x.k}), c.number(std::sqrt(8.0))});
    y = c.op(OpId::kWhere, {c.input(d.bools({s.rows, s.keys})), y, c.number(-1e9)});
    c.g.add_output("y", merged(c, c.op(OpId::kMatMul, {c.softmax(y), x.v}), s));
    check(c, 1, "double " + std::to_string(seed));
  }
}

// Hidden keys are left out only where that changes no bit: a value of infinity makes NaN of a
// weight of 0, and a sum that vanished to -0 becomes +0.
TEST(FuseAttention, HiddenKeysStillCountWhereTheyShow) {
  for (int form = 0; form < 3; ++form) {
    Draw d(9);
    Case c;
    const int64_t n = 150;
    HostTensor v(DType::kF32, Shape{1, n, 4});
    for (int64_t i = 0; i < v.numel(); ++i) {
      const float tiny = i / 4 < 100 ? -1e-45f : 1;  // times a weight: -0
      v.as<float>()[i] = form == 0 ? tiny : 1;
    }
    if (form == 1) v.as<float>()[4 * 149] = kInf;
    if (form == 2) v.as<float>()[4 * 100 + 1] = std::nanf("");
    const ValueId q = c.input(d.floats({1, n, 8})), k = c.input(d.floats({1, n, 8}));
    ValueId y = c.op(OpId::kMatMul, {q, c.turned(k, {0, 2, 1})});
    y = c.op(OpId::kWhere, {c.g.add_constant(causal(n, n)), y, c.number(-kInf)});
    c.g.add_output("y", c.op(OpId::kMatMul, {c.softmax(y), c.input(v)}));
    check(c, 1, "shown " + std::to_string(form));
  }
}

// A product by a constant matrix with what follows it is one op, with the bias behind the last k.
TEST(FuseMatMul, BiasResidualAndActivation) {
  for (int form = 0; form < 4; ++form) {
    Draw d(10);
    Case c;
    const ValueId x = c.input(d.floats({2, 5, 33}));
    ValueId y = c.op(OpId::kMatMul, {x, c.g.add_constant(d.floats({33, 70}))});
    const ValueId bias = c.g.add_constant(d.floats({70}));
    if (form != 3) y = form % 2 == 0 ? c.op(OpId::kAdd, {y, bias}) : c.op(OpId::kAdd, {bias, y});
    if (form > 0) y = c.op(OpId::kAdd, {c.input(d.floats({2, 5, 70})), y});
    if (form > 1) y = c.op(OpId::kRelu, {y});
    c.g.add_output("y", y);
    const Graph after = check(c, 0, "matmul " + std::to_string(form));
    EXPECT_EQ(count(after, OpId::kFusedMatMul), 1u);
    EXPECT_EQ(count(after, OpId::kAdd) + count(after, OpId::kRelu), 0u);
  }
}

}  // namespace
}  // namespace wick::ir
