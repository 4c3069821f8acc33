// The doctor: healthy trainings pass, and each planted fault is named with its op and line.
#include "trainer/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "runtime/include/wick/custom_op.h"
#include "runtime/registry/registry.h"
#include "tests/profile/models.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using doctor::Check;
using doctor::Finding;
using doctor::Training;
using test::error_of;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr Finding::Verdict kHealthy = Finding::Verdict::kHealthy, kFound = Finding::Verdict::kFound;

std::atomic<int> g_calls{0};

// x + 1e-3 * (how often it ran).
Status drift(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const float extra = 1e-3f * static_cast<float>(g_calls++);
  for (int64_t i = 0; i < out[0].numel(); ++i) out[0].as<float>()[i] = in[0].as<float>()[i] + extra;
  return {};
}
// x plus x in reverse order. It says that it may write over its input, and must not: the second
// half would read sums.
Status mirror(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const int64_t n = out[0].numel();
  for (int64_t i = 0; i < n; ++i)
    out[0].as<float>()[i] = in[0].as<float>()[i] + in[0].as<float>()[n - 1 - i];
  return {};
}
constexpr KernelRow over_input(KernelRow row) {
  row.flags |= kInPlace;
  return row;
}
constexpr KernelRow kDriftRows[] = {kernel_row<float>("drift.f32", drift)};
constexpr KernelRow kMirrorRows[] = {over_input(kernel_row<float>("mirror.f32", mirror))};
constexpr CustomOp kDrift = {.domain = "test", .name = "DoctorDrift", .kernels = kDriftRows};
constexpr CustomOp kMirror = {.domain = "test", .name = "Mirror", .kernels = kMirrorRows};

// A training of the MLP, whose batch and loss a fault may change.
doctor::MakeTraining training(
    std::function<Tensor(const Tensor& x)> batch = [](const Tensor& x) { return x; },
    std::function<Tensor(const Tensor& logits)> fault = [](const Tensor& y) { return y; }) {
  return [=](const Device& device) {
    manual_seed(7);
    auto model = std::make_shared<test::Mlp>();
    model->to(device);
    const Tensor x = randn({8, 64}).to(device), y = zeros({8}, DType::kI64).to(device);
    auto optimizer = std::make_shared<optim::SGD>(model->parameters(),
                                                  optim::SgdOptions{.lr = 0.1, .momentum = 0.9});
    return Training{model, optimizer, [=] { return cross_entropy(fault((*model)(batch(x))), y); }};
  };
}

Finding examined(Check check, const doctor::MakeTraining& make) {
  return doctor::examine(make, {.checks = {check}}).at(0);
}

#define EXPECT_LINE(finding, line) \
  EXPECT_THAT((finding).where, EndsWith("doctor_test.cc:" + std::to_string(line)))

TEST(Doctor, HealthyTrainingsPassEveryCheck) {
  const auto findings = doctor::examine(training());
  ASSERT_EQ(findings.size(), doctor::all_checks().size());
  for (const Finding& f : findings) EXPECT_NE(f.verdict, kFound) << f.line();
  EXPECT_EQ(findings[0].line(), "nan: ok: 5 steps, every number finite");
  EXPECT_THAT(findings.back().line(), HasSubstr("compile: ok: "));
  EXPECT_THAT(findings.back().text, HasSubstr("repeated, the same bits"));
}

TEST(Doctor, HealthyConvolutionsAndAttentionPass) {
  const auto cnn = [](const Device& device) {
    manual_seed(3);
    auto model = std::make_shared<test::Cnn>();
    model->to(device);
    const Tensor x = randn({4, 1, 28, 28}).to(device), y = zeros({4}, DType::kI64).to(device);
    return Training{model, std::make_shared<optim::AdamW>(model->parameters()),
                    [=] { return cross_entropy((*model)(x), y); }};
  };
  const auto blocks = [](const Device& device) {
    manual_seed(4);
    auto model = std::make_shared<test::Blocks>();
    model->to(device);
    const Tensor x = randn({2, 9, test::Block::kWidth}).to(device);
    const Tensor y = zeros({18}, DType::kI64).to(device);
    return Training{model, std::make_shared<optim::AdamW>(model->parameters()),
                    [=] { return cross_entropy((*model)(x).flatten(0, 1), y); }};
  };
  for (const auto& make : {doctor::MakeTraining(cnn), doctor::MakeTraining(blocks)}) {
    for (const Finding& f : doctor::examine(make, {.steps = 4}))
      EXPECT_NE(f.verdict, kFound) << f.line();
  }
}

// P9-p1: the softmax of logits that lie far apart has zeros, whose log is -inf.
TEST(Doctor, NamesTheFirstNaN) {
  int line = 0;
  const Finding f = examined(Check::kNan, training([](const Tensor& x) { return x; },
                                                   [&line](const Tensor& y) {
                                                     line = __LINE__ + 1;
                                                     return log(softmax(y * 1e4, -1));
                                                   }));
  EXPECT_EQ(f.verdict, kFound);
  EXPECT_EQ(f.op, "log");
  EXPECT_LINE(f, line);
  EXPECT_THAT(f.text, HasSubstr("step 1: [log] made "));
}

// sqrt's gradient at 0 is infinite: found behind a forward of finite numbers.
TEST(Doctor, NamesTheFirstNaNOfBackward) {
  int line = 0;
  const Finding f = examined(Check::kNan, training([](const Tensor& x) { return x; },
                                                   [&line](const Tensor& y) {
                                                     line = __LINE__ + 1;
                                                     return y + sqrt(y * 0.0);
                                                   }));
  EXPECT_EQ(f.verdict, kFound);
  EXPECT_EQ(f.op, "sqrt");
  EXPECT_LINE(f, line);
}

// P9-p2: activations that a list keeps.
TEST(Doctor, NamesTheLineThatLeaks) {
  std::vector<Tensor> kept;
  int line = 0;
  const Finding f = examined(Check::kLeak, training([](const Tensor& x) { return x; },
                                                    [&](const Tensor& y) {
                                                      line = __LINE__ + 1;
                                                      kept.push_back(y.detach() * 2);
                                                      return y;
                                                    }));
  EXPECT_EQ(f.verdict, kFound);
  EXPECT_EQ(f.op, "mul");
  EXPECT_LINE(f, line);
  EXPECT_THAT(f.text, HasSubstr("320 bytes more after each step, of 1 line;"));
}

// P9-p3.
TEST(Doctor, NamesTheOpThatIsNotDeterministic) {
  register_op(kDrift);
  int line = 0;
  const Finding f = examined(Check::kDeterminism, training([&line](const Tensor& x) {
                               line = __LINE__ + 1;
                               return custom_op("test::DoctorDrift", {x});
                             }));
  EXPECT_EQ(f.verdict, kFound);
  EXPECT_EQ(f.op, "test::DoctorDrift");
  EXPECT_LINE(f, line);
}

// P9-p5: a kernel that must not write over its input does so in a compiled step alone.
TEST(Doctor, BisectsACompiledStepToOneOp) {
  register_op(kMirror);
  int line = 0;
  const auto make = training([&line](const Tensor& x) {
    const Tensor halved = x * 0.5;
    line = __LINE__ + 1;
    return custom_op("test::Mirror", {halved});
  });
  EXPECT_EQ(examined(Check::kNan, make).verdict, kHealthy);
  EXPECT_EQ(examined(Check::kDeterminism, make).verdict, kHealthy);
  const Finding f = examined(Check::kCompile, make);
  EXPECT_EQ(f.verdict, kFound);
  EXPECT_EQ(f.op, "test::Mirror") << f.line();
  EXPECT_LINE(f, line);
  EXPECT_THAT(f.text, HasSubstr("unless the step returns its result"));
  // A compiled step itself sees that it would differ, and is not repeated.
  const Training t = make("cpu");
  auto step = compile_step([&] { return t.step(); });
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(step.report().repeated, 0);
  EXPECT_THAT(step.report().text(), HasSubstr("the repetition differs"));
}

// A difference of numbers that are nearly equal: bfloat16 keeps nothing of it.
TEST(Doctor, NamesTheOpWhereBfloat16Parts) {
  int line = 0;
  const Finding f = examined(Check::kBf16, training([](const Tensor& x) { return x; },
                                                    [&line](const Tensor& y) {
                                                      const Tensor far = y + 3000.0;
                                                      line = __LINE__ + 1;
                                                      return far - 3000.0;
                                                    }));
  EXPECT_EQ(f.verdict, kFound);
  EXPECT_EQ(f.op, "sub") << f.line();
  EXPECT_LINE(f, line);
}

// On the device softmax runs over another dimension.
TEST(Doctor, NamesTheOpWhereTheDeviceParts) {
  int line = 0;
  const Finding f = examined(Check::kVulkan, training([&line](const Tensor& x) {
                               line = __LINE__ + 1;
                               return softmax(x * 3.0, x.is_vulkan() ? 0 : 1);
                             }));
  if (f.verdict == Finding::Verdict::kSkipped) GTEST_SKIP() << "no Vulkan device: " << f.text;
  EXPECT_EQ(f.verdict, kFound);
  EXPECT_EQ(f.op, "softmax") << f.line();
  EXPECT_LINE(f, line);
}

TEST(Doctor, NamesTheOpThatTookAnotherPath) {
  int made = 0;
  const Finding f = examined(Check::kReference, [&](const Device& device) {
    const bool first = made++ == 0;
    return training([first](const Tensor& x) { return first ? x * 2.0 : exp(x); })(device);
  });
  EXPECT_EQ(f.verdict, kFound);
  EXPECT_EQ(f.op, "exp");
  EXPECT_THAT(f.text, HasSubstr("the program took another path"));
}

TEST(Doctor, SaysWhatItCannotDo) {
  EXPECT_THAT(error_of([] { doctor::examine(nullptr); }), HasSubstr("no function that makes"));
  EXPECT_THAT(error_of([] { doctor::examine(training(), {.steps = 3}); }),
              HasSubstr("at least 4 steps, got 3"));
  EXPECT_THAT(error_of([] { doctor::examine(training(), {.far_bf16 = 0}); }),
              HasSubstr("must be above 0"));
  const Finding f = examined(
      Check::kNan, [](const Device&) -> Training { throw Error("[train] the batch is missing"); });
  EXPECT_EQ(f.verdict, kFound);
  EXPECT_THAT(f.text, HasSubstr("the training itself failed: [train] the batch is missing"));
}

}  // namespace
}  // namespace wick
