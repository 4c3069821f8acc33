// Weights alone: blocks of 4 and 8 bits, tables, layers that quantize their input at run time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "quantize/passes/block_weights.h"
#include "runtime/core/half.h"
#include "runtime/core/narrow.h"
#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test
using ir::Graph;
using ir::ValueId;
using testing::HasSubstr;

Recipe weight_only(DType dtype, int64_t block) {
  Recipe r;
  r.mode = Mode::kWeightOnly;
  r.weight = dtype, r.block_size = block, r.weight_symmetric = dtype != DType::kU4;
  return r;
}

Builder mlp() {
  Builder b;
  const ValueId x = b.input("x", {3, 80});
  const ValueId h = b.g.emit(OpId::kGelu, GeluAttrs{}, {b.linear(x, 48, 80, "fc1")}, "gelu");
  b.g.add_output("y", b.op(OpId::kMatMul, {h, b.weight({48, 10}, "w2")}, "fc2"));
  return b;
}

double value_at(const HostTensor& t, int64_t i) {
  if (t.dtype() == DType::kI8) return t.as<int8_t>()[i];
  return narrow_at(t.dtype(), t.data(), i);
}

TEST(Blocks, RoundToNearestByTheStoredScale) {
  HostTensor w = noise({5, 70}, 3);
  for (int i = 0; i < 32; ++i) w.as<float>()[i] = 0;  // a block of nothing
  for (const DType dtype : {DType::kI8, DType::kI4, DType::kU4}) {
    const BlockedWeight b = in_blocks(w, dtype, dtype != DType::kU4, 32);
    EXPECT_EQ(b.scale.dtype(), DType::kF16);
    EXPECT_EQ(b.scale.shape(), (Shape{5, 3}));
    const double span = dtype == DType::kI8 ? 127 : dtype == DType::kI4 ? 7 : 15;
    for (int64_t r = 0; r < 5; ++r) {
      for (int64_t c = 0; c < 70; ++c) {
        const int64_t at = r * 3 + c / 32;
        const double s = static_cast<float>(b.scale.as<Half>()[at]),
                     z = dtype == DType::kU4 ? value_at(b.zero, at) : 0;
        const double q = value_at(b.bytes, r * 70 + c), x = w.as<float>()[r * 70 + c];
        EXPECT_GT(s, 0);
        const bool end = q == (dtype == DType::kU4   ? 0
                               : dtype == DType::kI4 ? -8
                                                     : -128) ||
                         q == (dtype == DType::kI4   ? 7
                               : dtype == DType::kU4 ? 15
                                                     : 127);
        // clipped ends may be further off, by what the smaller range saves
        EXPECT_LE(std::fabs((q - z) * s - x), s * 0.5001 + (end ? 0.25 * s * span : 0))
            << dtype_name(dtype) << " " << r << "," << c;
      }
    }
  }
}

TEST(Blocks, TheSearchedScaleIsBetterThanTheRange) {
  const HostTensor w = noise({16, 64}, 11);
  double searched = 0, plain = 0;
  const BlockedWeight b = in_blocks(w, DType::kI4, true, 32);
  for (int64_t k = 0; k < 32; ++k) {
    float most = 0;
    for (int i = 0; i < 32; ++i) most = std::max(most, std::fabs(w.as<float>()[k * 32 + i]));
    for (int i = 0; i < 32; ++i) {
      const double x = w.as<float>()[k * 32 + i], s = most / 7.0;
      const double e = std::clamp(std::nearbyint(x / s), -8.0, 7.0) * s - x;
      const double f =
          value_at(b.bytes, k * 32 + i) * static_cast<float>(b.scale.as<Half>()[k]) - x;
      plain += e * e, searched += f * f;
    }
  }
  EXPECT_LT(searched, plain * 0.95);
}

TEST(Blocks, ScalesBeyondHalfAreFloats) {
  HostTensor w = noise({2, 32}, 5);
  for (int i = 0; i < 64; ++i) w.as<float>()[i] *= 1e8F;
  const BlockedWeight b = in_blocks(w, DType::kI8, true, 32);
  EXPECT_EQ(b.scale.dtype(), DType::kF32);
  for (int i = 0; i < 64; ++i) w.as<float>()[i] *= 1e-20F;
  const BlockedWeight tiny = in_blocks(w, DType::kI8, true, 32);
  EXPECT_EQ(tiny.scale.dtype(), DType::kF32);
  for (int i = 0; i < 2; ++i) EXPECT_GT(tiny.scale.as<float>()[i], 0);
}

// The ranges that are tried for 4 bits go beyond a block's own: not beyond float32.
TEST(Blocks, NumbersNearTheEndOfFloat32AreRounded) {
  HostTensor w = noise({2, 32}, 5);
  for (int i = 0; i < 64; ++i) w.as<float>()[i] *= 3.4e38F;
  w.as<float>()[3] = std::numeric_limits<float>::max();
  w.as<float>()[40] = -std::numeric_limits<float>::max();
  for (const DType dtype : {DType::kI8, DType::kI4, DType::kU4}) {
    const BlockedWeight b = in_blocks(w, dtype, dtype != DType::kU4, 32);
    ASSERT_EQ(b.scale.dtype(), DType::kF32);
    for (int i = 0; i < 64; ++i) {
      const int zero = dtype == DType::kU4 ? static_cast<int>(value_at(b.zero, i / 32)) : 0;
      const double scale = b.scale.as<float>()[i / 32];
      const double back = (value_at(b.bytes, i) - zero) * scale;
      EXPECT_NEAR(back / 3.4e38, w.as<float>()[i] / 3.4e38, 2 * scale / 3.4e38) << i;  // clipped
    }
  }
}

TEST(WeightOnly, MakesBlockLinear) {
  const Builder b = mlp();
  for (const DType dtype : {DType::kI8, DType::kI4, DType::kU4}) {
    for (const int64_t block : {32, 64, 128}) {
      const QuantizeResult r = quantize(b.g, weight_only(dtype, block));
      EXPECT_TRUE(r.stayed.empty());
      const Batch batch = noise_batches(b.g, 1)[0];
      const HostTensor want = run_batch(b.g, batch)[0], got = run_batch(r.graph, batch)[0];
      EXPECT_GT(sqnr(want, got), dtype == DType::kI8 ? 38 : 14) << dtype_name(dtype) << block;
      Graph fast = r.graph;
      ir::simplify(fast);
      EXPECT_EQ(count(fast, OpId::kBlockLinear), 2);
      EXPECT_EQ(count(fast, OpId::kDequantizeLinear), 0);
      EXPECT_TRUE(same_bits(run_batch(fast, batch)[0], got));
      int64_t bytes = 0, before = 0;
      for (size_t v = 0; v < fast.value_count(); ++v) {
        const ir::Value& value = fast.value(static_cast<ValueId>(v));
        if (value.constant.present()) bytes += static_cast<int64_t>(value.constant.nbytes());
      }
      for (size_t v = 0; v < b.g.value_count(); ++v) {
        const ir::Value& value = b.g.value(static_cast<ValueId>(v));
        if (value.constant.present()) before += static_cast<int64_t>(value.constant.nbytes());
      }
      EXPECT_LT(static_cast<double>(bytes) / static_cast<double>(before),
                dtype == DType::kI8 ? 0.30 : 0.17);
    }
  }
}

TEST(WeightOnly, GathersIntegersOfTables) {
  for (const bool tied : {false, true}) {
    Builder b;
    const ValueId ids = b.g.add_input("ids", DType::kI64, to_symbolic(Shape{2, 3}));
    const ValueId table = b.weight({20, 64}, "table");
    const ValueId h = b.g.emit(OpId::kGather, AxisAttrs{0}, {table, ids}, "embed");
    const ValueId head = tied ? table : b.weight({9, 64}, "head");
    b.g.add_output("y", b.op(OpId::kLinear, {h, head}, "fc"));
    b.g.add_output("rows", h);
    Batch batch;
    batch["ids"] = HostTensor::of(Shape{2, 3}, std::vector<int64_t>{0, 5, 19, 3, 3, 1});
    for (const DType dtype : {DType::kI8, DType::kI4, DType::kU4}) {
      const QuantizeResult r = quantize(b.g, weight_only(dtype, 32));
      EXPECT_TRUE(r.stayed.empty());
      const auto want = run_batch(b.g, batch), got = run_batch(r.graph, batch);
      EXPECT_GT(sqnr(want[1], got[1]), 38);
      EXPECT_GT(sqnr(want[0], got[0]), dtype == DType::kI8 || tied ? 36 : 13);
      for (size_t v = 0; v < r.graph.value_count(); ++v) {  // no float is left of the weights
        const HostTensor& c = r.graph.value(static_cast<ValueId>(v)).constant;
        EXPECT_FALSE(c.present() && c.dtype() == DType::kF32)
            << r.graph.value(static_cast<ValueId>(v)).name;
      }
    }
    Recipe keep = weight_only(DType::kI8, 32);
    keep.embeddings = false;
    const QuantizeResult r = quantize(b.g, keep);
    ASSERT_EQ(r.stayed.size(), 1U);
    EXPECT_EQ(r.stayed[0].reason, "tables stay, as the recipe says");
  }
}

// A layer that shares its weight with a table is 8 bits wide where the table is integers, and as
// wide as asked where the table stays.
TEST(WeightOnly, TablesThatStayLeaveTheirHeadsAlone) {
  Builder b;
  const ValueId ids = b.g.add_input("ids", DType::kI64, to_symbolic(Shape{2, 3}));
  const ValueId table = b.weight({20, 64}, "table");
  const ValueId h = b.g.emit(OpId::kGather, AxisAttrs{0}, {table, ids}, "embed");
  b.g.add_output("y", b.op(OpId::kLinear, {h, table}, "fc"));
  const auto types = [&](const Recipe& r) {
    std::set<DType> all;
    const QuantizeResult q = quantize(b.g, r);
    for (const ir::Node& n : q.graph.nodes()) {
      if (!n.removed() && n.op == OpId::kDequantizeLinear)
        all.insert(q.graph.value(n.inputs[0]).dtype);
    }
    return all;
  };
  Recipe r = weight_only(DType::kI4, 32);
  EXPECT_EQ(types(r), std::set<DType>{DType::kI8});
  r.skip = {"embed"};
  EXPECT_EQ(types(r), std::set<DType>{DType::kI4});
  r.skip.clear();
  r.widths = {{"embed", Width::kF32}};
  EXPECT_EQ(types(r), std::set<DType>{DType::kI4});
}

TEST(WeightOnly, SaysWhatStays) {
  Builder b;
  const ValueId x = b.input("x", {2, 4, 8, 8});
  const ValueId c = b.conv(x, 4, 4, 3, "conv");
  const ValueId f = b.g.emit(OpId::kFlatten, AxisAttrs{1}, {c}, "flat");
  b.g.add_output("y", b.linear(b.linear(f, 32, 256, "a.skip"), 8, 32, "b"));
  Recipe r = weight_only(DType::kI4, 32);
  r.skip = {"a.*"};
  const QuantizeResult q = quantize(b.g, r);
  ASSERT_EQ(q.stayed.size(), 2U);
  EXPECT_EQ(q.stayed[0].node, "conv");
  EXPECT_EQ(q.stayed[0].reason, "only Linear and Gather have weights in blocks");
  EXPECT_EQ(q.stayed[1].reason, "skipped by \"a.*\"");
  EXPECT_EQ(count(q.graph, OpId::kDequantizeLinear), 1);
  r.block_size = 33;
  EXPECT_THAT(error_of([&] { quantize(b.g, r); }), HasSubstr("32, 64 or 128"));
}

TEST(Dynamic, LayersQuantizeTheirInput) {
  const Builder b = mlp();
  Recipe r;
  r.mode = Mode::kDynamic;
  for (const bool per_channel : {true, false}) {
    r.per_channel = per_channel;
    const QuantizeResult q = quantize(b.g, r);
    EXPECT_EQ(count(q.graph, OpId::kDynamicLinear), 2);
    EXPECT_TRUE(q.stayed.empty());
    const Batch batch = noise_batches(b.g, 1)[0];
    EXPECT_GT(sqnr(run_batch(b.g, batch)[0], run_batch(q.graph, batch)[0]), 34);
  }
  r.weight = DType::kI4;
  EXPECT_THAT(error_of([&] { quantize(b.g, r); }),
              HasSubstr("[quantize_dynamic] weights are symmetric int8 here, not int4"));
}

TEST(Quantize, NeedsWhatItsModeNeeds) {
  const Builder b = mlp();
  Recipe r;
  EXPECT_THAT(error_of([&] { quantize(b.g, r); }), HasSubstr("needs data to calibrate with"));
  r.mode = Mode::kQat;
  EXPECT_THAT(error_of([&] { quantize(b.g, r); }), HasSubstr("recipe \"qat\""));
  r.mode = Mode::kStatic;
  const QuantizeResult q = quantize(b.g, r, batches_of(noise_batches(b.g, 2)));
  EXPECT_GT(count(q.graph, OpId::kQuantizeLinear), 0);
}

// What stays float is listed, also within a body.
TEST(Dynamic, LayersInBodiesAreListedAsFloat) {
  Builder b;
  const ValueId x = b.input("x", {3, 80}), w = b.weight({80, 80}, "w");
  HostTensor yes(DType::kBool, {});
  yes.as<uint8_t>()[0] = 1;
  HostTensor trips(DType::kI64, {});
  trips.as<int64_t>()[0] = 2;
  Graph body = b.g.region("body");
  body.add_input("trip", DType::kI64, {});
  const ValueId on = body.add_input("on", DType::kBool, {});
  const ValueId v = body.add_input("v", DType::kF32, {SymDim(3), SymDim(80)});
  const ValueId outer = body.add_input("w", DType::kF32, {SymDim(80), SymDim(80)});
  const ValueId own = body.add_constant(noise({80, 80}, 9), "own", true);
  body.add_output("on_out", body.emit(OpId::kIdentity, {on}, "keep"));
  const ValueId first = body.emit(OpId::kMatMul, {v, outer}, "first");
  body.add_output("v_out", body.emit(OpId::kMatMul, {first, own}, "second"));
  const ir::NodeId loop = b.g.add_control(
      OpId::kLoop, AnyAttrs::of(LoopAttrs{1}),
      {b.g.add_constant(trips, "trips"), b.g.add_constant(yes, "go"), x, w}, {body}, "loop");
  b.g.add_output("y", b.g.node(loop).outputs[0]);
  Recipe r;
  r.mode = Mode::kDynamic;
  std::vector<std::string> listed;
  for (const Unquantized& u : quantize(b.g, r).stayed)
    listed.push_back(u.op + " " + u.node + ": " + u.reason);
  EXPECT_THAT(listed, testing::ElementsAre("Linear first: it is in the body of loop",
                                           "Linear second: it is in the body of loop"));
}

}  // namespace
}  // namespace wick::quantize
