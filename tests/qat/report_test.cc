// The error that rounding causes in a trained model, layer by layer, compared with the same weights
// unrounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/qat/goldens.h"
#include "tests/qat/nets.h"
#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using quantize::QatModule;
using test::count;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class QatReport : public testing::Test {
 protected:
  void SetUp() override {
    manual_seed(8);
    const test::Patterns train(256, 1);
    test::SmallNet float_net;
    float_net.train();
    test::train_steps(float_net, train, 0.005, 40);
    before = test::graph_of(float_net);
    quantize::QatOptions options;  // ranges of all that was seen, to the end
    options.recipe.activation_observer.kind = quantize::ObserverKind::kMinMax;
    options.observer_epochs = -1;
    net = std::make_unique<QatModule>(before, options);
    for (int epoch = 0; epoch < 5; ++epoch) {
      net->train_epoch(epoch);
      test::train_steps(*net, train, 0.005, 10);
    }
    net->eval();
  }
  ir::Graph before;
  std::unique_ptr<QatModule> net;
  const test::Patterns held_out{200, 2};
};

TEST_F(QatReport, UnroundedIsTheTrainedModelInFloats) {
  const ir::Graph floats = net->unrounded();
  for (const OpId gone : {OpId::kFakeQuantize, OpId::kFoldedBatchNorm, OpId::kBatchNorm,
                          OpId::kQuantizeLinear, OpId::kDequantizeLinear})
    EXPECT_EQ(count(floats, gone), 0) << static_cast<int>(gone);
  EXPECT_EQ(count(floats, OpId::kConv), 3);
  const HostTensor got = test::interpret(floats, held_out.x),
                   rounded = test::interpret(net->convert(), held_out.x),
                   old = test::interpret(before, held_out.x);
  // as near as 8 bits are, and far from the weights that training began with
  EXPECT_GT(test::sqnr(got, rounded), 25);
  EXPECT_LT(test::sqnr(got, old), 20);
}

TEST_F(QatReport, LayersAreComparedWithThemselves) {
  const ir::Graph floats = net->unrounded();
  quantize::QuantizeResult q;
  q.graph = net->convert();
  const quantize::Batches batches = quantize::batches_of({{{"image", host_copy(held_out.x)}}});
  const quantize::Comparison c = quantize::compare(floats, q, batches);
  EXPECT_THAT(c.notes, IsEmpty());
  int layers = 0;
  for (const quantize::LayerReport& l : c.layers) {
    // the sum and the Concat behind it share a scale: one that holds both
    EXPECT_GT(l.own.sqnr_db, 30) << l.node;
    EXPECT_LT(l.saturated, 0.005) << l.node;
    if (!l.weight) continue;
    ++layers;
    EXPECT_TRUE(l.quantized) << l.node;
    EXPECT_GT(l.weight->sqnr_db, 30) << l.node;
    EXPECT_TRUE(l.effect.has_value()) << l.node;
  }
  EXPECT_EQ(layers, 4);  // three convolutions, one Linear
  EXPECT_TRUE(c.first_growth.has_value());
  // Compared with the old weights a layer differs by what it learned.
  quantize::Recipe recipe;
  const quantize::Comparison other =
      quantize::compare(quantize::prepare(before, recipe), q, batches);
  EXPECT_LT(other.outputs[0].error.sqnr_db, c.outputs[0].error.sqnr_db - 5);
}

TEST_F(QatReport, NothingToCompareIsAnError) {
  EXPECT_THAT(test::error_of([&] { quantize::without_rounding(before); }),
              HasSubstr("no FakeQuantize"));
  const QatModule fresh(before);
  EXPECT_THAT(test::error_of([&] { fresh.unrounded(); }), HasSubstr("nothing was observed yet"));
}

}  // namespace
}  // namespace wick
