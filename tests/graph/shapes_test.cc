// Shape arithmetic: sizes that a model computes stay expressions over the symbols.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/ir/graph.h"

namespace wick::ir {
namespace {

using testing::ElementsAre;

struct Sizes {
  Graph g;
  ValueId x;  // int64 [2]: its sizes
  Sizes() {
    ValueId in = g.add_input("x", DType::kF32, {g.symbol("n"), g.symbol("m"), SymDim(6)});
    x = g.emit(OpId::kShape, ShapeOpAttrs{0, 2}, {in});
  }
  ValueId ints(std::vector<int64_t> v) { return g.add_constant(HostTensor::ints(v)); }
  ValueId scalar(int64_t v) { return g.add_constant(HostTensor::of<int64_t>({}, {v})); }
  ValueId cast(ValueId v, DType t) {
    return g.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(t)}, {v});
  }
  std::vector<std::string> text(ValueId v) {
    std::vector<std::string> out;
    for (const SymDim& d : g.value(v).elements) out.push_back(d.text());
    if (!g.value(v).has_elements) out.emplace_back("unknown");
    return out;
  }
};

TEST(ShapeArithmetic, StaysSymbolic) {
  Sizes s;
  Graph& g = s.g;
  EXPECT_THAT(s.text(s.x), ElementsAre("n", "m"));
  EXPECT_THAT(s.text(g.emit(OpId::kExpand, ShapeAttrs{{3}}, {s.scalar(-1)})),
              ElementsAre("-1", "-1", "-1"));
  EXPECT_THAT(s.text(g.emit(OpId::kMod, ModAttrs{}, {s.x, s.scalar(4)})),
              ElementsAre("-4*floor(n,4)+n", "-4*floor(m,4)+m"));
  for (const auto& [op, text] : {std::pair{OpId::kReduceSum, "m+n"}, {OpId::kReduceProd, "m*n"}})
    EXPECT_THAT(s.text(g.emit(op, ReduceAttrs{{0}, 0, 0}, {s.x})), ElementsAre(text));
  // the ends of a slice by input
  ValueId part =
      g.emit(OpId::kSlice, SliceAttrs{}, {s.x, s.ints({1}), s.ints({INT64_MAX}), s.ints({0})});
  EXPECT_THAT(s.text(part), ElementsAre("m"));
}

// Pads, ends and axes of a length that only running tells leave sizes open, not the rank.
TEST(ShapeArithmetic, RankWithoutValues) {
  Graph g;
  ValueId x = g.add_input("x", DType::kF32, {SymDim(2), SymDim(3), SymDim(4)});
  ValueId list = g.add_input("list", DType::kI64, {g.symbol("k")});
  const Value& padded = g.value(g.emit(OpId::kPad, PadAttrs{}, {x, list}));
  EXPECT_TRUE(padded.ranked && padded.shape.rank() == 3 && !padded.shape[1].known());
  EXPECT_EQ(padded.dtype, DType::kF32);
  const Value& cut = g.value(g.emit(OpId::kSlice, SliceAttrs{}, {x, list, list}));
  EXPECT_TRUE(cut.ranked && cut.shape.rank() == 3);
  const Value& kept = g.value(g.emit(OpId::kReduceSum, ReduceAttrs{}, {x, list}));
  EXPECT_TRUE(kept.ranked && kept.shape.rank() == 3);
  ReduceAttrs dropped;
  dropped.keepdims = 0;
  EXPECT_FALSE(g.value(g.emit(OpId::kReduceSum, dropped, {x, list})).ranked);
}

// PyTorch's expand(-1, 5): where a wanted size is -1, the size of the tensor.
TEST(ShapeArithmetic, WhereOverEqualPicks) {
  Sizes s;
  Graph& g = s.g;
  ValueId wanted = s.ints({-1, 5}), ones = s.ints({-1, -1});
  ValueId picked = g.emit(OpId::kWhere, {g.emit(OpId::kEqual, {wanted, ones}), s.x, wanted});
  EXPECT_THAT(s.text(picked), ElementsAre("n", "5"));
  // a size is never -1
  picked = g.emit(OpId::kWhere, {g.emit(OpId::kEqual, {s.x, ones}), ones, s.x});
  EXPECT_THAT(s.text(picked), ElementsAre("n", "m"));
  // whether n is 3 only running tells
  picked = g.emit(OpId::kWhere, {g.emit(OpId::kEqual, {s.x, s.ints({3, 3})}), ones, s.x});
  EXPECT_THAT(s.text(picked), ElementsAre("unknown"));
}

// x[:h / 2], x[1:], x[:t] of an axis of 32, x[::2], x[::-1]
TEST(ShapeArithmetic, SlicesOfSymbolicAxes) {
  Graph g;
  const SymDim n = g.symbol("n"), t = g.symbol("t", 0);
  ValueId x = g.add_input("x", DType::kF32, {n}),
          table = g.add_input("p", DType::kF32, {SymDim(32)});
  ValueId like = g.add_input("like", DType::kF32, {t});
  auto sliced = [&](ValueId of, std::vector<ValueId> by) {
    by.insert(by.begin(), of);
    return shape_text(g.value(g.emit(OpId::kSlice, SliceAttrs{}, by)).shape);
  };
  auto ints = [&](int64_t v) { return g.add_constant(HostTensor::of<int64_t>({1}, {v})); };
  ValueId zero = ints(0), all = ints(INT64_MAX), size = g.emit(OpId::kShape, ShapeOpAttrs{}, {x});
  ValueId half = g.emit(OpId::kDiv, {size, ints(2)});
  EXPECT_EQ(sliced(x, {zero, half}), "[floor(n,2)]");
  EXPECT_EQ(sliced(x, {half, all}), "[-floor(n,2)+n]");
  EXPECT_EQ(sliced(x, {ints(1), all}), "[n-1]");
  EXPECT_EQ(sliced(x, {zero, ints(-1)}), "[n-1]");
  EXPECT_EQ(sliced(x, {ints(-3), all}), "[-max(0,n-3)+n]");
  EXPECT_EQ(sliced(x, {zero, all, zero, ints(2)}), "[floor(n+1,2)]");
  EXPECT_EQ(sliced(x, {ints(-1), ints(INT64_MIN), zero, ints(-1)}), "[n]");
  // as long as t, up to 32: what is added to a tensor of t has its size
  ValueId part = g.emit(OpId::kSlice, SliceAttrs{},
                        {table, zero, g.emit(OpId::kShape, ShapeOpAttrs{}, {like})});
  EXPECT_EQ(shape_text(g.value(part).shape), "[-max(32,t)+t+32]");
  EXPECT_EQ(shape_text(g.value(g.emit(OpId::kAdd, {part, like})).shape), "[t]");
}

// A maximum that is settled ahead is the maximum whatever the symbols are.
TEST(ShapeArithmetic, SettledMaximaAreRight) {
  const SymDim n = SymDim::symbol("n", 0, 40), t = SymDim::symbol("t", 1, 40);
  std::vector<SymDim> pool = {n, t, SymDim(0), SymDim(7), n + t, n - 3, t * 2 - n};
  for (size_t i = 0, first = pool.size(); i < first; ++i) {
    for (int64_t by : {2, 3}) pool.push_back(dim_floor_div(pool[i] * (by - 1) + 1, by));
    for (size_t k = 0; k < i; ++k) {
      pool.push_back(dim_max(pool[i], pool[k]));
      pool.push_back(dim_min(pool[i], pool[k]));
    }
  }
  int settled = 0;
  for (const SymDim& a : pool) {
    for (const SymDim& b : pool) {
      const SymDim m = dim_max(a, b);
      settled += m == a || m == b ? 1 : 0;
      for (const auto& [x, y] : {std::pair{0, 1}, {0, 40}, {40, 1}, {3, 7}, {12, 5}, {40, 40}}) {
        auto value = [&, x = x, y = y](const std::string& name) { return name == "n" ? x : y; };
        ASSERT_EQ(m.evaluate(value), std::max(a.evaluate(value), b.evaluate(value)))
            << "max of " << a.text() << " and " << b.text() << " is " << m.text();
      }
    }
  }
  EXPECT_GT(settled, 1000);
}

TEST(ShapeArithmetic, Int32IsKnownWhereItCannotWrap) {
  Sizes s;
  Graph& g = s.g;
  ValueId narrow = s.cast(s.x, DType::kI32);
  EXPECT_THAT(s.text(narrow), ElementsAre("n", "m"));
  ValueId two = g.add_constant(HostTensor::of<int32_t>({}, {2}));
  EXPECT_THAT(s.text(g.emit(OpId::kDiv, {narrow, two})), ElementsAre("floor(n,2)", "floor(m,2)"));
  EXPECT_THAT(s.text(g.emit(OpId::kMul, {narrow, two})), ElementsAre("unknown"));
}

}  // namespace
}  // namespace wick::ir
