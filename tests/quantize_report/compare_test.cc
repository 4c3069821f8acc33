// Which layer loses precision: the numbers against sums made here, and planted layers that must be
// named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quantize/choose/output_error.h"
#include "quantize/report/compare.h"
#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test
using ir::Graph;
using ir::ValueId;
using testing::HasSubstr;

// x -> a -> relu.a -> b -> relu.b -> c -> relu.c -> d -> relu.d -> mean -> head
struct Net : Builder {
  ValueId x = input("x", {2, 3, 12, 12});
  std::map<std::string, ValueId> made;
  explicit Net(const std::string& spike_behind = "") {
    ValueId v = x;
    int64_t in = 3;
    for (const char* name : {"a", "b", "c", "d"}) {
      v = conv(v, 8, in, 3, name);
      v = op(OpId::kRelu, {v}, std::string("relu.") + name);
      in = 8;
      if (name == spike_behind) {
        HostTensor t(DType::kF32, {1, 8, 1, 1});
        t.as<float>()[5] = 1e5F;  // a channel that is far above the others
        v = op(OpId::kAdd, {v, g.add_constant(t, "spike.constant")}, "spike");
        silent_ = 5;
      } else if (silent_ >= 0) {
        silence();
      }
      made[name] = v;
    }
    const ReduceAttrs mean = spatial();
    v = g.emit(OpId::kReduceMean, mean, {v}, "mean");
    g.add_output("y", linear(g.emit(OpId::kFlatten, AxisAttrs{1}, {v}, "flat"), 5, 8, "head"));
  }

  // Multiplies one output channel of the layer's weight by `factor`, and mutes it in the next
  // layer, `behind`, so that the function hardly changes.
  void plant(const std::string& layer, const std::string& behind, float factor) {
    HostTensor& w = constant(layer + ".weight");
    const int64_t each = w.numel() / w.shape()[0];
    for (int64_t i = 0; i < each; ++i) w.as<float>()[3 * each + i] *= factor;
    mute(behind, 3);
  }

  void mute(const std::string& layer, int64_t channel) {
    HostTensor& w = constant(layer + ".weight");
    const int64_t in = w.shape()[1], area = w.shape()[2] * w.shape()[3];
    for (int64_t o = 0; o < w.shape()[0]; ++o) {
      for (int64_t i = 0; i < area; ++i) w.as<float>()[(o * in + channel) * area + i] = 0;
    }
  }

  HostTensor& constant(const std::string& name) {
    for (size_t v = 0; v < g.value_count(); ++v) {
      ir::Value& value = g.value(static_cast<ValueId>(v));
      if (value.name == name && value.origin == ir::ValueOrigin::kConstant) return value.constant;
    }
    throw Error("no constant " + name);
  }

 private:
  static ReduceAttrs spatial() {
    ReduceAttrs a;
    a.axes = {2, 3};
    return a;
  }
  void silence() {
    mute(std::string(1, static_cast<char>('a' + static_cast<int>(made.size()))), silent_);
    silent_ = -1;
  }
  int64_t silent_ = -1;
};

struct Compared {
  QuantizeResult quantized;
  Comparison c;
};
Compared compared(const Graph& g, const Recipe& r = {}, const CompareOptions& o = {}) {
  const Batches b = batches_of(noise_batches(g, 3));
  Compared all{quantize_static(g, calibrate(g, b, r), r, b), {}};
  all.c = compare(g, all.quantized, b, o);
  return all;
}
const LayerReport& layer(const Comparison& c, const std::string& name) {
  for (const LayerReport& l : c.layers) {
    if (l.node == name) return l;
  }
  throw Error("no layer " + name);
}

TEST(Compare, NumbersAreThoseOfTheTwoRuns) {
  const Net net;
  const Compared r = compared(net.g);
  const std::vector<Batch> batches = noise_batches(net.g, 3);
  HostTensor want(DType::kF32, {6, 5}), got(DType::kF32, {6, 5});
  for (int64_t i = 0; i < 3; ++i) {
    const auto x = run_batch(net.g, batches[static_cast<size_t>(i)])[0],
               y = run_batch(r.quantized.graph, batches[static_cast<size_t>(i)])[0];
    std::copy_n(x.as<float>(), 10, want.as<float>() + 10 * i);
    std::copy_n(y.as<float>(), 10, got.as<float>() + 10 * i);
  }
  ASSERT_EQ(r.c.outputs.size(), 1u);
  EXPECT_EQ(r.c.batches, 3);
  EXPECT_EQ(r.c.outputs[0].name, "y");
  EXPECT_NEAR(r.c.outputs[0].error.sqnr_db, sqnr(want, got), 1e-9);
  const LayerReport& head = layer(r.c, "head");
  EXPECT_TRUE(head.quantized);
  EXPECT_EQ(head.op, "Linear");
  EXPECT_GT(head.accumulated.cosine, 0.999);
  EXPECT_LT(head.accumulated.cosine, 1);
  double most = 0, lo = 0, hi = 0;
  for (int64_t i = 0; i < 30; ++i) {
    most = std::max<double>(most, std::fabs(want.as<float>()[i] - got.as<float>()[i]));
    lo = std::min<double>(lo, want.as<float>()[i]), hi = std::max<double>(hi, want.as<float>()[i]);
  }
  EXPECT_EQ(head.accumulated.max_error, most);
  EXPECT_EQ(head.seen.lo, lo);
  EXPECT_EQ(head.seen.hi, hi);
}

TEST(Compare, EachLayerHasWhatItIsMadeOf) {
  const Net net;
  const Compared r = compared(net.g);
  // the input, four layers with their activations, mean, flatten, head
  ASSERT_EQ(r.c.layers.size(), 8u);
  EXPECT_EQ(r.c.layers[0].op, "input");
  EXPECT_FALSE(r.c.layers[0].quantized);
  ASSERT_TRUE(r.c.layers[0].result.has_value());
  const LayerReport& b = layer(r.c, "b");
  EXPECT_EQ(b.op, "Conv + Relu");
  EXPECT_TRUE(b.quantized);
  ASSERT_TRUE(b.weight.has_value());
  EXPECT_EQ(b.weight->dtype, DType::kI8);
  EXPECT_EQ(b.weight->scales, 8);
  EXPECT_GT(b.weight->sqnr_db, 38);
  ASSERT_TRUE(b.result.has_value());
  EXPECT_EQ(b.result->dtype, DType::kU8);
  EXPECT_EQ(b.seen.lo, 0);  // behind the Relu
  EXPECT_NEAR(b.representable.hi, b.seen.hi, 1e-4 * b.seen.hi);
  EXPECT_EQ(b.saturated, 0);
  // both parts lose less than the whole, and the whole less than what all before it add
  EXPECT_GT(b.of_weights.sqnr_db, b.own.sqnr_db - 1e-9);
  EXPECT_GT(b.of_result.sqnr_db, b.own.sqnr_db - 1e-9);
  EXPECT_GT(b.own.sqnr_db, b.accumulated.sqnr_db);
  ASSERT_TRUE(b.effect.has_value());
  EXPECT_LT(b.effect->sqnr_db, 70);
  EXPECT_GT(b.effect->sqnr_db, 25);
  // what keeps the scale of its input is exact alone
  EXPECT_TRUE(layer(r.c, "flat").own.exact());
  EXPECT_EQ(r.c.by_sensitivity.size(), 7u);
  EXPECT_TRUE(r.c.notes.empty());
}

TEST(Compare, NamesTheLayerPlantedInTheWeights) {
  for (const char* where : {"b", "c"}) {
    Net net;
    net.plant(where, where == std::string("b") ? "c" : "d", 1000);
    Recipe r;
    r.per_channel = false;
    const Comparison c = compared(net.g, r).c;
    ASSERT_TRUE(c.first_growth.has_value());
    EXPECT_EQ(c.layers[*c.first_growth].node, where);
    EXPECT_EQ(c.layers[c.by_sensitivity[0]].node, where);
    EXPECT_GT(c.layers[*c.first_growth].growth_db, 25);
    // without the plant nothing grows like that
    const Comparison plain = compared(Net().g, r).c;
    EXPECT_LT(plain.layers[*plain.first_growth].growth_db, 15);
  }
}

TEST(Compare, NamesTheLayerWhoseResultHasAnOutlier) {
  const Net net("b");
  const Comparison c = compared(net.g).c;
  ASSERT_TRUE(c.first_growth.has_value());
  const LayerReport& named = c.layers[*c.first_growth];
  EXPECT_EQ(named.node, "spike");
  EXPECT_EQ(named.cause(), "result");
  EXPECT_EQ(c.layers[c.by_sensitivity[0]].node, "spike");
  EXPECT_LT(named.own.channel_db, 15);
  EXPECT_GT(named.own.sqnr_db, 40);  // the one large channel hides the error
}

TEST(Compare, ALayerOfCoarseWeightsAloneIsNamedForThem) {
  Net net;
  net.plant("c", "d", 1000);
  Recipe r;
  r.per_channel = false;
  const Compared all = compared(net.g, r);
  const LayerReport& named = layer(all.c, "c");
  EXPECT_LT(named.of_weights.channel_db, 15);
  ASSERT_TRUE(named.weight.has_value());
  EXPECT_EQ(named.weight->scales, 1);
  EXPECT_LT(named.weight->channel_db, 15);
  EXPECT_GT(named.weight->sqnr_db, 40);
  // a scale of its own for each channel keeps the weights, not the result
  const Compared each = compared(net.g);
  const LayerReport& fine = layer(each.c, "c");
  EXPECT_GT(fine.of_weights.channel_db, 30);
  EXPECT_EQ(fine.cause(), "result");
}

TEST(Compare, CountsWhatIsOutOfRange) {
  const Net net;
  Recipe r;
  r.activation_observer.kind = ObserverKind::kPercentile;
  r.activation_observer.percentile = 90;
  const Comparison c = compared(net.g, r).c;
  const LayerReport& x = c.layers[0];
  EXPECT_NEAR(x.saturated, 0.1, 0.02);
  EXPECT_LT(x.representable.hi, x.seen.hi);
  EXPECT_NEAR(x.mean, 0, 0.05);
  EXPECT_NEAR(x.deviation, std::sqrt(1.0 / 3), 0.02);
}

TEST(Compare, FloatsSayWhy) {
  Net net;
  Recipe r;
  r.skip = {"c"};
  const Comparison c = compared(net.g, r).c;
  const LayerReport& skipped = layer(c, "c");
  EXPECT_FALSE(skipped.quantized);
  EXPECT_EQ(skipped.reason, "skipped by \"c\"");
  EXPECT_TRUE(skipped.own.exact());
  EXPECT_FALSE(skipped.accumulated.exact());  // its input is not
}

TEST(Compare, WeightsInBlocks) {
  Builder b;
  const ValueId x = b.input("x", {4, 64});
  b.g.add_output("y",
                 b.linear(b.op(OpId::kRelu, {b.linear(x, 96, 64, "one")}, "relu"), 10, 96, "two"));
  Recipe r;
  r.mode = Mode::kWeightOnly;
  r.weight = DType::kI4;
  const QuantizeResult q = quantize_weights(b.g, r);
  const Comparison c = compare(b.g, q, batches_of(noise_batches(b.g, 2)));
  const LayerReport& one = layer(c, "one");
  EXPECT_TRUE(one.quantized);
  ASSERT_TRUE(one.weight.has_value());
  EXPECT_EQ(one.weight->dtype, DType::kI4);
  EXPECT_EQ(one.weight->scales, 96 * 2);
  EXPECT_FALSE(one.result.has_value());
  EXPECT_EQ(one.cause(), "weights");
  EXPECT_NEAR(one.own.sqnr_db, one.accumulated.sqnr_db, 1e-9);  // nothing before it
  EXPECT_GT(one.own.sqnr_db, 15);
  EXPECT_LT(layer(c, "two").accumulated.sqnr_db, 30);
}

TEST(Compare, TablesInBlocks) {
  Builder b;
  const ValueId ids = b.g.add_input("ids", DType::kI64, {SymDim(2), SymDim(3)});
  const ValueId rows =
      b.g.emit(OpId::kGather, AxisAttrs{0}, {b.weight({10, 32}, "table"), ids}, "embed");
  const ValueId sum = b.op(OpId::kAdd, {rows, b.weight({32}, "position")}, "sum");
  b.g.add_output("y", b.linear(sum, 4, 32, "head"));
  Recipe r;
  r.mode = Mode::kWeightOnly;
  Batch batch;
  batch["ids"] = HostTensor::of<int64_t>({2, 3}, {0, 9, 3, 4, 4, 1});
  const Comparison c = compare(b.g, quantize_weights(b.g, r), batches_of({batch}));
  EXPECT_TRUE(c.notes.empty());
  const LayerReport& embed = layer(c, "embed");
  EXPECT_TRUE(embed.quantized);
  EXPECT_EQ(embed.cause(), "weights");
  EXPECT_GT(embed.own.sqnr_db, 35);
  EXPECT_FALSE(layer(c, "sum").quantized);
  EXPECT_LT(layer(c, "head").accumulated.sqnr_db, layer(c, "head").own.sqnr_db);
}

TEST(Compare, StepsAreCounted) {
  const Net net;
  std::vector<int64_t> steps;
  CompareOptions o;
  o.batches = 2;
  o.effects = false;
  int64_t all = 0;
  o.progress = [&](int64_t done, int64_t of) { steps.push_back(done), all = of; };
  const Comparison c = compared(net.g, {}, o).c;
  EXPECT_EQ(c.batches, 2);
  EXPECT_EQ(static_cast<int64_t>(steps.size()), all);
  EXPECT_EQ(steps.back(), all);
  EXPECT_FALSE(c.layers[1].effect.has_value());
}

TEST(Compare, OutputsOfTwoGraphs) {
  const Net net;
  const Compared r = compared(net.g);
  const Batches b = batches_of(noise_batches(net.g, 3));
  const auto out = compare_outputs(net.g, r.quantized.graph, b);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].error.sqnr_db, r.c.outputs[0].error.sqnr_db);
  EXPECT_TRUE(compare_outputs(net.g, net.g, b)[0].error.exact());
}

// Parts of unlike sizes have channels of their own; an axis that batches differ in has none.
// How many numbers there are depends on what is rounded: an output of another size is lost, and is
// no reason to have no report.
TEST(Compare, OutputsOfOtherSizesAreLost) {
  Builder b;
  const ValueId x = b.input("x", {4, 8});
  const ValueId h = b.op(OpId::kRelu, {b.linear(x, 32, 8, "fc")}, "relu");
  // the small ones are 0 in integers, and are not found
  const ValueId where = b.op(OpId::kNonZero, {h}, "where");
  const CastAttrs real{static_cast<int64_t>(DType::kF32)};
  b.g.add_output("found", b.g.emit(OpId::kCast, real, {where}, "found"));
  b.g.add_output("h", h);
  HostTensor& w = b.g.value(b.g.node(0).inputs[1]).constant;
  HostTensor& bias = b.g.value(b.g.node(0).inputs[2]).constant;
  for (int i = 0; i < 8; ++i) w.as<float>()[i] = 0;
  bias.as<float>()[0] = 1e-5F;
  const Batches all = batches_of(noise_batches(b.g, 2));
  Recipe r;
  const Graph g = prepare(b.g, r);
  const QuantizeResult q = quantize(b.g, r, all);
  const Batch batch = *all(0);
  ASSERT_FALSE(run_batch(g, batch)[0].shape() == run_batch(q.graph, batch)[0].shape());
  const Comparison c = compare(g, q, all);
  ASSERT_EQ(c.outputs.size(), 2U);
  EXPECT_EQ(c.outputs[0].error.sqnr_db, 0);
  EXPECT_GT(c.outputs[1].error.sqnr_db, 25);
  EXPECT_EQ(compare_outputs(g, q.graph, all)[0].error.sqnr_db, 0);
  EXPECT_NEAR(OutputError(g, all, 2, 2, {}).sqnr_db(q.graph), c.outputs[1].error.sqnr_db / 2, 1e-9);
}

TEST(Compare, UnevenPartsAndLengths) {
  Builder b;
  const ValueId y = b.conv(b.input("x", {2, 2, 6, 6}), 3, 2, 3, "conv");
  const ValueId sizes = b.g.add_constant(HostTensor::of<int64_t>(Shape{2}, {1, 2}));
  SplitAttrs channels_of;
  channels_of.axis = 1;
  const ir::NodeId split =
      b.g.add_node(OpId::kSplit, AnyAttrs::of(channels_of), {y, sizes}, 2, "split");
  b.g.add_output("a", b.g.node(split).outputs[0]);
  b.g.add_output("b", b.g.node(split).outputs[1]);
  const Batches batches = batches_of(noise_batches(b.g, 2));
  const QuantizeResult q = quantize_static(b.g, calibrate(b.g, batches, {}), {}, batches);
  const Comparison c = compare(b.g, q, batches);
  EXPECT_EQ(c.batches, 2);
  const auto found = std::find_if(c.layers.begin(), c.layers.end(),
                                  [](const LayerReport& l) { return l.node == "split"; });
  ASSERT_NE(found, c.layers.end());
  // The figures of all three channels, from the numbers of the two runs.
  double sum = 0;
  std::vector<double> signal(3), error(3);
  for (const Batch& batch : noise_batches(b.g, 2)) {
    const auto want = run_batch(b.g, batch), got = run_batch(q.graph, batch);
    for (size_t k = 0; k < 2; ++k) {
      const int64_t channels = want[k].shape()[1], area = 36;
      for (int64_t i = 0; i < want[k].numel(); ++i) {
        const double w = want[k].as<float>()[i], e = w - got[k].as<float>()[i];
        const auto at = static_cast<size_t>(i / area % channels) + k;
        signal[at] += w * w, error[at] += e * e;
      }
    }
  }
  for (size_t i = 0; i < 3; ++i) sum += 10 * std::log10(signal[i] / error[i]);
  EXPECT_NEAR(found->accumulated.channel_db, sum / 3, 1e-3);

  Builder lengths;
  const ValueId u =
      lengths.g.add_input("u", DType::kF32, SymShape{SymDim(1), SymDim::symbol("n"), SymDim(8)});
  const ValueId v = lengths.linear(u, 8, 8, "fc");
  const ValueId turned = lengths.g.emit(OpId::kTranspose, TransposeAttrs{{0, 2, 1}}, {v}, "turn");
  lengths.g.add_output("y", lengths.op(OpId::kMatMul, {v, turned}, "scores"));
  const Batches unlike = batches_of({{{"u", noise({1, 4, 8}, 1)}}, {{"u", noise({1, 6, 8}, 2)}}});
  const QuantizeResult s = quantize_static(lengths.g, calibrate(lengths.g, unlike, {}), {}, unlike);
  EXPECT_EQ(compare(lengths.g, s, unlike).batches, 2);
}

TEST(Compare, RefusesOtherModelsAndNoData) {
  const Net net;
  const Compared r = compared(net.g);
  Builder other;
  other.g.add_output("y", other.linear(other.input("z", {4, 8}), 2, 8, "l"));
  const Batches b = batches_of(noise_batches(net.g, 1));
  EXPECT_THAT(error_of([&] { compare(other.g, r.quantized, b); }), HasSubstr("of two models"));
  EXPECT_THAT(error_of([&] { compare(net.g, r.quantized, batches_of({})); }),
              HasSubstr("no batch to compare with"));
  EXPECT_THAT(error_of([&] { compare_outputs(net.g, r.quantized.graph, {}); }),
              HasSubstr("no batch to compare with"));
}

// Lines of text are of many widths: where that is the axis, there are no channels.
TEST(ErrorSums, AnAxisWhoseSizeDiffersIsNoChannels) {
  ErrorSums differing, whole, same;
  for (const int64_t width : {4, 6, 4}) {
    const HostTensor x = noise({2, width, 3}, static_cast<uint32_t>(width));
    HostTensor y(DType::kF32, x.shape(), x.data(), x.nbytes());
    for (int64_t i = 0; i < y.numel(); ++i) y.as<float>()[i] += i % 12 < 3 ? 0.5F : 0.001F;
    differing.add(x, y, 1);
    whole.add(x, y, -1);
    if (width == 4) same.add(x, y, 1);
  }
  EXPECT_NEAR(differing.numbers().sqnr_db, whole.numbers().sqnr_db, 1e-9);
  EXPECT_EQ(differing.numbers().channel_db, differing.numbers().sqnr_db);
  EXPECT_EQ(differing.numbers().max_error, whole.numbers().max_error);
  EXPECT_GT(same.numbers().channel_db, same.numbers().sqnr_db + 5);
}

TEST(ErrorSums, OfNothingAndOfSilence) {
  ErrorSums s;
  const HostTensor zero(DType::kF32, {2, 3}), x = noise({2, 3}, 1);
  s.add(x, x, 1);
  EXPECT_TRUE(s.numbers().exact());
  EXPECT_EQ(s.numbers().cosine, 1);
  ErrorSums silent;
  silent.add(zero, x, 1);
  EXPECT_EQ(silent.numbers().sqnr_db, -kExactDb);
  EXPECT_EQ(silent.numbers().cosine, 0);
  // a mask counts for nothing; what became infinite is lost
  HostTensor masked = noise({2, 3}, 1), lost = noise({2, 3}, 1);
  masked.as<float>()[1] = -INFINITY;
  lost.as<float>()[1] = INFINITY;
  ErrorSums mask, loss;
  mask.add(masked, lost, 1);
  EXPECT_TRUE(mask.numbers().exact());
  loss.add(x, lost, 1);
  EXPECT_EQ(loss.numbers().max_error, std::fabs(x.as<float>()[1]));
  EXPECT_GT(loss.numbers().sqnr_db, 0);
  EXPECT_LT(loss.numbers().sqnr_db, 30);
  EXPECT_THAT(error_of([&] { s.add(x, noise({3, 2}, 1), 1); }), HasSubstr("cannot be compared"));
}

}  // namespace
}  // namespace wick::quantize
