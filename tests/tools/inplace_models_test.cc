// Models that write into tensors and through views: a graph has no writes, so the exported model
// must give the trainer's bits in Wick, and close numbers in ONNX Runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"
#include "trainer/data/npy.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

using namespace wick::indexing;  // NOLINT: Slice, None, Ellipsis

struct ThroughViews : nn::Module {
  nn::Child<nn::Linear> fc{this, "fc", 6, 6};
  Tensor forward(const Arg& x) override {
    Tensor y = fc(x);
    Tensor early = y.select(1, 2);
    y.select(1, 0).add_(1);
    y.slice(1, 1, 6, 2).mul_(y.slice(1, 0, 5, 2));
    early.fill_(0.5);
    y.relu_();
    return y + early.unsqueeze(1);
  }
};
struct ByIndex : nn::Module {
  Tensor forward(const Arg& x) override {
    Tensor y = x.tensor * 2;
    y[{Ellipsis, 1}] = 3;
    y[{Slice(), Slice(2, {}, 2)}] -= x.tensor[{Slice(), Slice({}, 2)}];
    y.masked_fill_(gt(y, 2.5), -1);
    return y;
  }
};
struct IntoFresh : nn::Module {
  Tensor forward(const Arg& x) override {
    Tensor y = relu(x), early = y.select(1, 1);
    y.zero_();
    y.select(1, 2).copy_(x.tensor.select(1, 3));
    y.narrow(1, 3, 2).fill_(3);
    early.add_(0.25);
    return y.t().t().mul_(2);
  }
};

template <class M>
void check(const std::string& name) {
  manual_seed(3);
  M model;
  model.eval();
  const std::string stem = scratch() + "/inplace_" + name;
  Tensor x = randn({4, 6});
  data::write_npy(stem + ".npy", x.raw());
  Tensor want = model(x.clone());
  ir::Graph graph = capture(model, {{"x", randn({2, 6}), {{0, "batch"}}, {}}});
  export_onnx(graph, stem + ".onnx");
  export_wick(graph, stem + ".wick");
  for (const char* suffix : {".onnx", ".wick"}) {
    Ran r = wick({"run", stem + suffix, "--input", stem + ".npy", "-o", stem + "_out"});
    ASSERT_EQ(r.code, 0) << r.err;
    data::HostArray got = data::read_npy(stem + "_out/" + graph.outputs()[0].name + ".npy");
    ASSERT_EQ(got.shape, want.raw_shape());
    EXPECT_EQ(memcmp(got.as<char>(), want.contiguous().data_ptr(), want.nbytes()), 0) << suffix;
  }
  Ran r = wick({"compare", stem + ".onnx", "--against", "onnxruntime", "--data", stem + ".npy",
                "--tolerance", "1e-6"});
  if (r.code == 1 && r.err.find("not installed") != std::string::npos)
    GTEST_SKIP() << "onnxruntime not installed";
  EXPECT_EQ(r.code, 0) << r.err << r.out;
}

TEST(InPlaceModels, WritesThroughViews) { check<ThroughViews>("views"); }
TEST(InPlaceModels, WritesByIndexAndMask) { check<ByIndex>("index"); }
TEST(InPlaceModels, WritesIntoFreshTensors) { check<IntoFresh>("fresh"); }

}  // namespace
}  // namespace wick::test
