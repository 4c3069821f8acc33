// A model that the tools have changed can be exported: smaller files, the same outputs.
#include <gmock/gmock.h>

#include <filesystem>

#include "graph/interpreter/interpreter.h"
#include "tests/modules/goldens.h"
#include "tests/support/temp_folder.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/compile.h"

namespace wick {
namespace {

// Expects the bits of the trainer's own kernels: capture sees the functions that run.
void expect_same_graph(nn::Module& net, const Tensor& x) {
  net.eval();
  ir::Graph graph = capture(net, {{"x", x, {{0, "batch"}}, {}}});
  HostTensor in = host_copy(x), want = host_copy(net(x).detach());
  EXPECT_TRUE(same_bits(ir::run(graph, {&in, 1})[0], want));
}

TEST(ExportOfTools, PrunedChannelsAreGoneFromTheFiles) {
  manual_seed(21);
  nn::Conv2dOptions o;
  o.padding = 1;
  nn::Sequential net(nn::Conv2d(1, 32, 3, o), nn::BatchNorm2d(32), nn::ReLU(), nn::MaxPool2d(2),
                     nn::Conv2d(32, 64, 3, o), nn::ReLU(), nn::Flatten(),
                     nn::Linear(64 * 4 * 4, 10));
  net.eval();
  Tensor x = randn({2, 1, 8, 8});
  const std::string dir = wick::test::temp_folder();
  auto sizes = [&](const std::string& name) {
    ir::Graph graph = capture(net, {{"x", x, {{0, "batch"}}, {}}});
    export_wick(graph, dir + name + ".wick");
    export_onnx(graph, dir + name + ".onnx");
    return std::pair(std::filesystem::file_size(dir + name + ".wick"),
                     std::filesystem::file_size(dir + name + ".onnx"));
  };
  auto [wick_before, onnx_before] = sizes("whole");
  auto plan = nn::structured_prune(net, 0.5);
  auto [wick_after, onnx_after] = sizes("pruned");
  EXPECT_LT(wick_after, wick_before * 4 / 10);
  EXPECT_LT(onnx_after, onnx_before * 4 / 10);
  printf("half of the channels removed: .wick %ju -> %ju bytes, .onnx %ju -> %ju\n",
         static_cast<uintmax_t>(wick_before), static_cast<uintmax_t>(wick_after),
         static_cast<uintmax_t>(onnx_before), static_cast<uintmax_t>(onnx_after));
  expect_same_graph(net, x);
  EXPECT_THAT(net.repr(), testing::HasSubstr("Conv2d(16, 32, kernel_size=(3, 3)"));
  EXPECT_THAT(net.repr(), testing::HasSubstr("BatchNorm2d(16, "));
  EXPECT_THAT(net.repr(), testing::HasSubstr("Linear(in_features=512, out_features=10"));
}

TEST(ExportOfTools, ComputedWeightsAndReplacedLayers) {
  manual_seed(22);
  struct Net : nn::Module {
    nn::Child<nn::Linear> a{this, "a", 6, 8};
    nn::Child<nn::Linear> b{this, "b", 8, 8};
    nn::Child<nn::Linear> c{this, "c", 8, 8};
    nn::Child<nn::Linear> d{this, "d", 8, 3};
    Tensor forward(const Arg& x) override { return d(relu(c(relu(b(relu(a(x))))))); }
  } net;
  Tensor x = randn({3, 6});
  nn::weight_norm(*net.a);
  nn::spectral_norm(*net.b);
  nn::LoraOptions lora;
  lora.targets = {"c"};
  nn::add_lora(net, lora);
  {
    NoGrad guard;
    net.get_parameter("c.lora_B.weight").copy_(randn({8, 8}));
  }
  nn::prune::l1_unstructured(*net.d, "weight", 0.5);
  expect_same_graph(net, x);
}

TEST(ExportOfTools, AModuleThatIsCalledWithOtherWeights) {
  manual_seed(23);
  struct Net : nn::Module {
    nn::Child<nn::Linear> fc{this, "fc", 4, 4};
    nn::Child<nn::Linear> other{this, "other", 4, 4};
    Tensor forward(const Arg& x) override {
      const Tensor before = fc(x);
      const Tensor given = nn::functional_call(
          *fc, {{"weight", fc->weight * 2}, {"bias", sum(other(x), {0})}}, x.tensor);
      return before + given + fc(x);  // the last call has the module's own weights again
    }
  } net;
  expect_same_graph(net, randn({3, 4}));
}

}  // namespace
}  // namespace wick
