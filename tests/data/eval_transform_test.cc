// Preprocessing inside the model: the trainer's bits, in a .wick program and through ONNX.
#include "trainer/data/eval_transform.h"

#include <gmock/gmock.h>

#include "tests/data/folder.h"
#include "tests/data/goldens.h"
#include "tests/support/error_of.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/data/datasets.h"
#include "trainer/nn/layers.h"
#include "trainer/tensor/ops.h"
#include "wick/compile.h"
#include "wick/runtime.h"

namespace wick {
namespace {

using namespace data;
using test::error_of;
using ::testing::HasSubstr;

EvalOptions options() {
  return {.height = 24,
          .width = 31,
          .resize = 14,
          .crop = 12,
          .mean = {0.485, 0.456, 0.406},
          .std = {0.229, 0.224, 0.225}};
}

struct Net : nn::Module {
  nn::Child<EvalTransform> prepare{this, "prepare", options()};
  nn::Child<nn::Conv2d> conv{this, "conv", 3, 4, 3};
  Tensor forward(const Arg& x) override { return conv(prepare(x)).flatten(1); }
};

Tensor pictures(int64_t n) {
  std::vector<Tensor> all;
  Tensor p = test::picture(24, 31);
  for (int64_t i = 0; i < n; ++i) all.push_back(i % 2 == 0 ? p : transforms::hflip(p));
  return stack(all);
}

TEST(EvalTransforms, DeployedIsTrainedBitForBit) {
  Net net;
  net.eval();
  ir::Graph graph = capture(net, {{"image", pictures(2), {{0, "batch"}}, {}}});
  ir::Graph back = import_onnx_bytes(onnx_bytes(graph));
  for (const ir::Graph& g : {graph, back}) {
    std::vector<uint8_t> bytes = compile_program(g);
    auto program = Program::load(Span<const uint8_t>(bytes));
    ASSERT_TRUE(program.ok()) << program.status().message();
    for (int threads : {1, 2}) {
      SessionOptions o;
      o.threads = threads;
      auto session = Session::create(**program, o);
      ASSERT_TRUE(session.ok()) << session.status().message();
      for (int64_t n : {1, 5}) {
        NoGrad guard;
        HostTensor in = host_copy(pictures(n)), want = host_copy(net(pictures(n)));
        ASSERT_EQ(in.dtype(), DType::kU8);
        HostTensor got(want.dtype(), want.shape());
        TensorView in_view = in.view(), out_view = got.view();
        Status s = (*session)->run({&in_view, 1}, {&out_view, 1});
        ASSERT_TRUE(s.ok()) << s.message();
        EXPECT_TRUE(same_bits(got, want)) << threads << " threads, batch " << n;
      }
    }
  }
}

TEST(EvalTransforms, IsTheTransformsOfTheTrainer) {
  EvalTransform prepare(options());
  EXPECT_EQ(prepare.output_size().height, 12);
  Tensor bytes = test::picture(24, 31), as_floats = bytes.to(DType::kF32);
  NoGrad guard;
  Tensor got = prepare(bytes.unsqueeze(0)).squeeze(0);
  // The same steps, one by one: floats that hold bytes, divided after the crop.
  transforms::Size size = transforms::resized_edge(24, 31, 14);
  Tensor step = transforms::center_crop(transforms::resize(as_floats, size), 12) / 255.0f;
  Tensor want = transforms::normalize_image(step, options().mean, options().std);
  EXPECT_EQ(got.to_vector<float>(), want.to_vector<float>());
  // A loader applies it item by item, with the bits of the batch.
  auto data = std::make_shared<TransformedDataset>(
      std::make_shared<TensorDataset>(std::vector<Tensor>{pictures(5)}),
      as_transform(std::make_shared<EvalTransform>(options())));
  DataLoader loader(data, {.batch_size = 5, .workers = 2});
  Batch batch;
  ASSERT_TRUE(loader.next(batch));
  EXPECT_EQ(batch[0].to_vector<float>(), prepare(pictures(5)).to_vector<float>());
}

TEST(EvalTransforms, RefusesOtherSizes) {
  EvalTransform prepare(options());
  EXPECT_THAT(error_of([&] {
                prepare(zeros({1, 3, 24, 30}, DType::kU8));
              }),
              HasSubstr("images are [1,3,24,30], expected [N, 3, 24, 31]"));
  auto text = [](EvalOptions o) { return error_of([&] { EvalTransform t(o); }); };
  EXPECT_THAT(text({}), HasSubstr("images of [3, 0, 0]"));
  EXPECT_THAT(text({.height = 8, .width = 8, .crop = 9}), HasSubstr("crop 9 of 8 x 8"));
  EXPECT_THAT(text({.height = 8, .width = 8, .std = {0}}), HasSubstr("a deviation of 0"));
  EXPECT_THAT(text({.height = 8, .width = 8, .mean = {0, 0}}), HasSubstr("2 means"));
}

}  // namespace
}  // namespace wick
