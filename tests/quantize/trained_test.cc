// A small net trained on TinyDigits, with batch norm, a depthwise layer and tables: the accuracy
// that each recipe gives. The quantized graphs run in the interpreter.
#include <gtest/gtest.h>

#include "graph/passes/lower_qdq.h"
#include "tests/quantize/graphs.h"
#include "tests/support/where.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/compile.h"
#include "wick/trainer.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test

class Trained : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const data::ImageData digits = data::open_images(source_dir("/tests/data/sets/tinydigits"));
    manual_seed(5);
    nn::Sequential net(nn::Conv2d(1, 12, 3, {.padding = 1}), nn::BatchNorm2d(12), nn::ReLU(),
                       nn::Conv2d(12, 12, 3, {.padding = 1, .groups = 12}), nn::BatchNorm2d(12),
                       nn::ReLU6(), nn::Conv2d(12, 16, 1), nn::BatchNorm2d(16), nn::SiLU(),
                       nn::MaxPool2d(2), nn::Flatten(), nn::Linear(256, 10));
    optim::Adam adam(net.parameters(), {.lr = 0.01});
    data::DataLoader loader(digits.train, {.batch_size = 64, .shuffle = true, .seed = 1});
    for (int epoch = 0; epoch < 6; ++epoch) {
      for (data::Batch& b : loader) {
        Tensor loss = cross_entropy(net(b[0]), b[1]);
        adam.zero_grad();
        loss.backward();
        adam.step();
      }
    }
    net.eval();
    graph = new ir::Graph(capture(net, {{"image", zeros({2, 1, 8, 8}), {{0, "batch"}}, {}}}));
    calibration = new std::vector<Batch>(batches_from(digits.train, 4));
    images = new std::vector<Batch>(batches_from(digits.test, 100, &labels));
  }

  static std::vector<Batch> batches_from(const std::shared_ptr<const data::Dataset>& set,
                                         size_t most, std::vector<int64_t>* labels = nullptr) {
    std::vector<Batch> all;
    data::DataLoader loader(set, {.batch_size = 60, .shuffle = false});
    for (data::Batch& b : loader) {
      if (all.size() == most) break;
      all.push_back({{"image", host_copy(b[0])}});
      if (labels == nullptr) continue;
      for (int64_t l : b[1].to_vector<int64_t>()) labels->push_back(l);
    }
    return all;
  }

  // Percent of the test images.
  static double accuracy(const ir::Graph& g) {
    ir::InterpreterOptions o;
    o.kernels = {default_kernels().begin(), default_kernels().end()};
    int64_t right = 0, at = 0;
    for (const Batch& b : *images) {
      const HostTensor y = ir::run(g, graph_inputs(g, b, 0), o)[0];
      for (int64_t i = 0; i < y.shape()[0]; ++i) {
        const float* row = y.as<float>() + i * 10;
        right += std::max_element(row, row + 10) - row == labels[static_cast<size_t>(at++)];
      }
    }
    return 100.0 * static_cast<double>(right) / static_cast<double>(at);
  }

  static QuantizeResult quantized(const Recipe& r) {
    return quantize(*graph, r, batches_of(*calibration));
  }

  static inline ir::Graph* graph = nullptr;
  static inline std::vector<Batch>* calibration = nullptr;
  static inline std::vector<Batch>* images = nullptr;
  static inline std::vector<int64_t> labels;
};

TEST_F(Trained, FloatIsGood) { EXPECT_GT(accuracy(*graph), 93); }

TEST_F(Trained, EveryObserverKeepsTheAccuracy) {
  const double before = accuracy(*graph);
  for (const ObserverKind kind :
       {ObserverKind::kMinMax, ObserverKind::kMovingAverage, ObserverKind::kPercentile,
        ObserverKind::kEntropy, ObserverKind::kMse}) {
    Recipe r;
    r.activation_observer.kind = kind;
    const QuantizeResult q = quantized(r);
    EXPECT_TRUE(q.stayed.empty());
    EXPECT_EQ(count(q.graph, OpId::kBatchNorm), 0);
    const double after = accuracy(q.graph);
    printf("static, %-14s %.2f %% (float %.2f %%)\n", observer_name(kind), after, before);
    EXPECT_GE(after, before - 1);
  }
}

TEST_F(Trained, EveryRecipeKeepsTheAccuracy) {
  const double before = accuracy(*graph);
  struct Case {
    const char* name;
    Recipe recipe;
    double loses;
  };
  std::vector<Case> cases(7);
  cases[0].name = "int8 activations, symmetric";
  cases[0].recipe.activation = DType::kI8, cases[0].recipe.activation_symmetric = true;
  cases[1].name = "equalized, corrected";
  cases[1].recipe.equalize = cases[1].recipe.bias_correction = true;
  cases[2].name = "one scale a weight";
  cases[2].recipe.per_channel = false;
  cases[3].name = "int4 weights, MSE, corrected";
  cases[3].recipe.weight = DType::kI4, cases[3].recipe.bias_correction = true;
  cases[3].recipe.weight_observer.kind = ObserverKind::kMse;
  cases[3].loses = 4;
  cases[4].name = "dynamic";
  cases[4].recipe.mode = Mode::kDynamic;
  cases[5].name = "weight-only int8";
  cases[5].recipe.mode = Mode::kWeightOnly;
  cases[6].name = "weight-only int4";
  cases[6].recipe.mode = Mode::kWeightOnly, cases[6].recipe.weight = DType::kI4;
  for (const Case& c : cases) {
    const double after = accuracy(quantized(c.recipe).graph);
    printf("%-30s %.2f %% (float %.2f %%)\n", c.name, after, before);
    EXPECT_GE(after, before - std::max(c.loses, 1.0)) << c.name;
  }
}

// The same graphs with integer ops in place of the pairs: nothing stays float, and the answers are
// those of the pairs but for roundings.
TEST_F(Trained, LowersToIntegers) {
  const double before = accuracy(*graph);
  for (const DType activation : {DType::kU8, DType::kI8}) {
    for (const DType weight : {DType::kI8, DType::kI4}) {
      Recipe r;
      r.activation = activation, r.weight = weight;
      r.equalize = r.bias_correction = weight == DType::kI4;
      r.float_output = weight == DType::kI4;
      const ir::Graph q = quantized(r).graph;
      ir::LowerReport report;
      const ir::Graph integers = ir::lowered(q, &report);
      EXPECT_EQ(report.text(), "");
      EXPECT_EQ(count(integers, OpId::kConv) + count(integers, OpId::kLinear), 0);
      const Batch& b = images->front();
      EXPECT_GT(sqnr(run_batch(q, b)[0], run_batch(integers, b)[0]), 35);
      const double after = accuracy(integers);
      printf("integers, %s x %s: %.2f %%\n", dtype_name(activation), dtype_name(weight), after);
      EXPECT_GE(after, before - (weight == DType::kI4 ? 4 : 1));
    }
  }
}

// A captured graph's quantized form as a file, and read again.
TEST_F(Trained, GoesThroughOnnx) {
  for (const Mode mode : {Mode::kStatic, Mode::kWeightOnly}) {
    Recipe r;
    r.mode = mode;
    const ir::Graph q = quantized(r).graph;
    const ir::Graph back = import_onnx_bytes(onnx_bytes(q));
    for (const Batch& b : *images) {
      const HostTensor want = run_batch(q, b)[0];
      EXPECT_TRUE(same_bits(run_batch(back, b)[0], want)) << mode_name(mode);
      break;
    }
  }
}

}  // namespace
}  // namespace wick::quantize
