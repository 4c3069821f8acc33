// Trained == deployed over real images: LeNet and ResNet-8, all of Fashion-MNIST's test set, each
// integer of each layer, on every SIMD target and on the reference kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "hwy/targets.h"
#include "runtime/kernels/bytes/byte_tiles.h"
#include "runtime/kernels/simd.h"
#include "tests/qat/fashion.h"
#include "tests/support/outputs_sha256.h"

namespace wick {
namespace {

using quantize::QatModule;

constexpr int64_t kBatch = 250;
#ifdef __SANITIZE_ADDRESS__  // looks for more than bits, and takes its time
constexpr int64_t kImages = 500;
#else
constexpr int64_t kImages = 10000;
#endif

class QatFashion : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { images_ = test::fashion_mnist(); }
  static void TearDownTestSuite() { images_.reset(), trained_.clear(); }
  void SetUp() override {
    if (!images_) GTEST_SKIP() << "Fashion-MNIST not installed";
  }

  static const data::ImageDataset& held_out() { return *images_->test; }
  static const uint8_t* bytes() { return held_out().images().as<uint8_t>(); }

  // Trained once for all tests.
  static QatModule& trained() {
    std::unique_ptr<QatModule>& net = trained_[GetParam()];
    if (!net) net = test::short_trained(GetParam(), *images_);
    return *net;
  }
  static std::unique_ptr<QatModule> copy() {
    auto net = std::make_unique<QatModule>(trained().to_graph());
    net->load_state_dict(trained().state_dict());
    net->eval();
    return net;
  }

  struct Answers {
    int64_t integers = 0, differ = 0;  // bytes of layers
    int64_t reals = 0, differ_in_a_bit = 0;
    int64_t highest = 0;  // bytes at the upper end of their range
    std::string sha;      // digest of the logits
  };
  // Compares eval() of the frozen module with a program of its integer graph. For each of the first
  // `layers` images every layer's bytes are compared, too.
  static Answers compare(QatModule& net, int64_t count, int64_t layers, bool count_ends = false);
  // The program's logits for `count` images on this machine's vector targets have the digest
  // `want`; for a few of them too on the reference kernels, without vectors, and without what is
  // asked for beside a target (VNNI on AVX2, AMX, dot products).
  static void every_target(const ir::Graph& graph, int64_t count, int64_t few,
                           const std::string& want);

  static inline std::optional<data::ImageData> images_;
  static inline std::map<std::string, std::unique_ptr<QatModule>> trained_;
};

int64_t differing(const Tensor& a, const TensorView& b) {
  const size_t item = a.nbytes() / static_cast<size_t>(a.numel());
  int64_t n = 0;
  const auto *p = static_cast<const char*>(a.raw().data), *q = static_cast<const char*>(b.data);
  if (std::memcmp(p, q, a.nbytes()) == 0) return 0;
  for (size_t i = 0; i < a.nbytes(); i += item) n += std::memcmp(p + i, q + i, item) != 0 ? 1 : 0;
  return n;
}

QatFashion::Answers QatFashion::compare(QatModule& net, int64_t count, int64_t layers,
                                        bool count_ends) {
  // Every layer's bytes are outputs beside the logits.
  ir::Graph watched = net.integer()->graph();
  for (const ir::Node& n : net.integer()->graph().nodes()) {
    if (n.removed() || watched.is_output(n.outputs[0])) continue;
    const DType t = watched.value(n.outputs[0]).dtype;
    if (t == DType::kU8 || t == DType::kI8)
      watched.add_output("watched" + std::to_string(watched.outputs().size()), n.outputs[0]);
  }
  nn::GraphModule by_layer(watched);
  by_layer.eval();
  const std::vector<uint8_t> files[] = {compile_program(watched),
                                        compile_program(net.integer()->graph())};
  auto all = Program::load(Span<const uint8_t>(files[0])),
       plain = Program::load(Span<const uint8_t>(files[1]));
  auto watching = Session::create(**all), deployed = Session::create(**plain);
  Answers a;
  Sha256 sha;
  const NoGrad guard;
  std::vector<TensorView> out((*watching)->output_count());
  EXPECT_GT(out.size(), 3U);
  for (int64_t from = 0; from < count; from += kBatch) {
    const Tensor x = test::image_bytes(held_out(), from, kBatch);
    const Tensor logits = net(x).contiguous();
    TensorView answer;
    const TensorView in = x.raw();
    EXPECT_TRUE((*deployed)->run({&in, 1}, {&answer, 1}).ok());
    a.reals += logits.numel();
    a.differ_in_a_bit += differing(logits, answer);
    sha.update({static_cast<const uint8_t*>(logits.raw().data), logits.nbytes()});
    if (from >= layers) continue;
    EXPECT_TRUE((*watching)->run({&in, 1}, out).ok());
    std::vector<Tensor> values = by_layer.run({x});
    a.differ_in_a_bit += differing(values[0].contiguous(), out[0]);
    for (size_t k = 1; k < values.size(); ++k) {
      const Tensor v = values[k].contiguous();
      a.integers += v.numel();
      a.differ += differing(v, out[k]);
      if (count_ends) {
        const auto* p = static_cast<const uint8_t*>(v.raw().data);
        a.highest += std::count(p, p + v.numel(), v.dtype() == DType::kI8 ? 0x7F : 0xFF);
      }
    }
  }
  a.sha = sha.finish_text().text;
  return a;
}

void QatFashion::every_target(const ir::Graph& graph, int64_t count, int64_t few,
                              const std::string& want) {
  const std::vector<uint8_t> file = compile_program(graph);
  auto program = Program::load(Span<const uint8_t>(file));
  const auto sha = [&](int64_t images, Span<const KernelSet* const> kernels = {}) {
    return test::outputs_sha256(**program, bytes(), images, images == count ? kBatch : 64, kernels);
  };
  const std::string want_few = sha(few);
  std::string all, some;
  for_each_simd_target([&](int64_t target) {
    const char* name = simd_target_name(target);
    const bool fast = target != HWY_SCALAR && simd_target_has_fma(target);
    EXPECT_EQ(sha(fast ? count : few), fast ? want : want_few) << name;
    allow_byte_instructions(false);
    EXPECT_EQ(sha(few), want_few) << name << " plain";
    allow_byte_instructions(true);
    (fast ? all : some) += std::string(" ") + name;
  });
  const KernelSet* const reference[] = {&kReferenceKernels};
  EXPECT_EQ(sha(few, reference), want_few);
  std::printf("%s: sha256 %s of %lld images on%s; of the first %lld on%s and the reference too\n",
              GetParam(), want.c_str(), static_cast<long long>(count), all.c_str(),
              static_cast<long long>(few), some.c_str());
}

TEST_P(QatFashion, EvalIsDeployedOverTheTestSet) {
  auto net = copy();
  ir::LowerReport report;
  net->freeze(&report);
  EXPECT_THAT(report.stayed, testing::SizeIs(0)) << report.text();
  const int64_t count = kImages;
  ASSERT_GE(held_out().size(), count);
  const bool full = std::getenv("WICK_TEST_FULL") != nullptr;
  const int64_t layers = full ? count : kImages / 10;
  const Answers a = compare(*net, count, layers);
  EXPECT_EQ(a.differ, 0);
  EXPECT_EQ(a.differ_in_a_bit, 0);
  EXPECT_GT(a.integers, layers * 10000);
  std::printf("%s: %lld of %lld logits of %lld images differ, %lld of %lld integers of %lld\n",
              GetParam(), static_cast<long long>(a.differ_in_a_bit),
              static_cast<long long>(a.reals), static_cast<long long>(count),
              static_cast<long long>(a.differ), static_cast<long long>(a.integers),
              static_cast<long long>(layers));
  const NoGrad guard;
  const Tensor some = test::image_bytes(held_out(), 0, 1000);
  const double accuracy = eq(argmax((*net)(some), 1), test::image_labels(held_out(), 0, 1000))
                              .to(DType::kF32)
                              .mean()
                              .item();
  EXPECT_GT(accuracy, 0.6) << "it has learned nothing";
  every_target(net->integer()->graph(), count, full ? count : 100, a.sha);
}

// Sums lie on ties between two integers.
TEST_P(QatFashion, PowersOfTwoAsScales) {
  auto net = copy();
  for (const auto& [name, t] : net->named_buffers()) {
    if (!name.ends_with("_scale")) continue;
    std::vector<float> scales = t.to(DType::kF32).to_vector<float>();
    for (float& s : scales) s = std::exp2(std::round(std::log2(s)));
    t.copy_(from_blob(scales.data(), t.raw_shape(), DType::kF32));
  }
  net->freeze();
  const Answers a = compare(*net, 500, 500);
  EXPECT_EQ(a.differ, 0);
  EXPECT_EQ(a.differ_in_a_bit, 0);
  every_target(net->integer()->graph(), 500, 100, a.sha);
}

// Scales of a sixteenth: much of what passes is cut off.
TEST_P(QatFashion, ScalesThatSaturate) {
  auto net = copy();
  for (const auto& [name, t] : net->named_buffers()) {
    if (!name.ends_with("_scale") || t.numel() != 1) continue;
    t.mul_(1.0F / 16);
  }
  net->freeze();
  const Answers a = compare(*net, 500, 500, true);
  EXPECT_EQ(a.differ, 0);
  EXPECT_EQ(a.differ_in_a_bit, 0);
  EXPECT_GT(a.highest, a.integers / 40) << "of " << a.integers;
  every_target(net->integer()->graph(), 500, 100, a.sha);
}

INSTANTIATE_TEST_SUITE_P(Nets, QatFashion, testing::Values("lenet", "resnet8"));

}  // namespace
}  // namespace wick
