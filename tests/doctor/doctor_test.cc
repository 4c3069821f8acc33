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

// What is not finite although no op made it: weights of a run that diverged, a batch, an update.
TEST(Doctor, NamesNumbersThatNoOpMade) {
  const auto spoilt = [](const Device& device) {
    Training t = training()(device);
    NoGrad guard;
    t.module->named_parameters()[2].second.select(0, 3).fill_(NAN);
    return t;
  };
  const Finding weights = examined(Check::kNan, spoilt);
  EXPECT_EQ(weights.verdict, kFound);
  EXPECT_THAT(weights.text, HasSubstr("before the first step parameter 'fc2.weight'"));
  EXPECT_THAT(weights.text, HasSubstr("32 nan"));

  const Finding batch = examined(
      Check::kNan, training([](const Tensor& x) { return where(gt(x, 2.0), full({}, NAN), x); }));
  EXPECT_EQ(batch.verdict, kFound) << batch.line();
  EXPECT_THAT(batch.text, HasSubstr("step 1: "));
  const Finding in_place = examined(Check::kNan, training([](const Tensor& x) {
                                      NoGrad guard;
                                      return x.clone().div_(0);
                                    }));
  EXPECT_EQ(in_place.verdict, kFound) << in_place.line();
  EXPECT_THAT(in_place.text, HasSubstr("[div] made "));
  const Finding target =
      examined(Check::kNan, training([](const Tensor& x) { return x; },
                                     [](const Tensor& y) { return y + full({}, NAN); }));
  EXPECT_EQ(target.verdict, kFound) << target.line();
  EXPECT_THAT(target.text, HasSubstr("step 1: the loss is nan, and no op made that"));

  const Finding update = examined(Check::kNan, [](const Device& device) {
    Training t = training()(device);
    t.optimizer = std::make_shared<optim::SGD>(t.module->parameters(),
                                               optim::SgdOptions{.lr = 3e38, .momentum = 0.9});
    const Tensor x = randn({8, 64}) * 1e4, y = zeros({8}, DType::kI64);
    t.loss = [module = t.module, x, y] { return cross_entropy((*module)(x), y); };
    return t;
  });
  EXPECT_EQ(update.verdict, kFound) << update.line();
  EXPECT_THAT(update.text, HasSubstr("step 1: parameter 'fc"));
  EXPECT_THAT(update.text, HasSubstr("the optimizer's update did"));
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

// One tensor that becomes longer with every step.
TEST(Doctor, NamesTheLineWhoseTensorGrows) {
  Tensor all = zeros({1, 10});
  int line = 0;
  const Finding f = examined(Check::kLeak, training([](const Tensor& x) { return x; },
                                                    [&](const Tensor& y) {
                                                      line = __LINE__ + 1;
                                                      all = cat({all, y.detach()}, 0);
                                                      return y;
                                                    }));
  EXPECT_EQ(f.verdict, kFound) << f.line();
  EXPECT_EQ(f.op, "cat");
  EXPECT_LINE(f, line);
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

// Without an optimizer no loss depends on the gradient that the repetition gets wrong.
TEST(Doctor, SeesGradientsOfACompiledStepThatNobodyUses) {
  register_op(kMirror);
  const auto with = training([](const Tensor& x) { return x; },
                             [](const Tensor& y) {
                               // A factor that the gradient alone sees.
                               const Tensor m = custom_op("test::Mirror", {y.detach() * 0.5});
                               return y + (y * m - (y * m).detach());
                             });
  const auto make = [&](const Device& device) {
    Training t = with(device);
    t.optimizer = nullptr;
    return t;
  };
  const Finding f = examined(Check::kCompile, make);
  EXPECT_EQ(f.verdict, kFound) << f.line();
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

TEST(Doctor, NamesTheOpThatDidNotRunAgain) {
  int made = 0;
  const Finding f = examined(Check::kReference, [&](const Device& device) {
    const bool first = made++ == 0;
    Training t = training()(device);
    const auto loss = t.loss;
    t.loss = [loss, first] {
      Tensor l = loss();
      if (!first) l = l.detach().requires_grad_();  // its backward has no op
      return l;
    };
    return t;
  });
  EXPECT_EQ(f.verdict, kFound) << f.line();
  EXPECT_THAT(f.text, HasSubstr("backward's "));
  EXPECT_THAT(f.text, HasSubstr("did not run, where the other run had ended"));
}

// A table with sparse gradients is no fault: its step is not repeated.
TEST(Doctor, SparseGradientsAreNoFault) {
  const Finding f = examined(Check::kCompile, [](const Device&) {
    manual_seed(2);
    auto table = std::make_shared<nn::Embedding>(20, 4, nn::EmbeddingOptions{.sparse = true});
    const Tensor index = arange(6);
    auto sgd = std::make_shared<optim::SGD>(table->parameters(), optim::SgdOptions{.lr = 0.1});
    return Training{table, sgd, [=] { return sum(square((*table)(index))); }};
  });
  EXPECT_EQ(f.verdict, Finding::Verdict::kSkipped) << f.line();
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
  // What is thrown need not be Wick's.
  const Finding other = examined(Check::kLeak, training([](const Tensor& x) -> Tensor {
                                   if (x.defined()) throw std::runtime_error("the disk is full");
                                   return x;
                                 }));
  EXPECT_EQ(other.verdict, kFound);
  EXPECT_THAT(other.text, HasSubstr("the training itself failed: the disk is full"));
  for (Check check : doctor::all_checks()) {
    if (check == Check::kVulkan) continue;  // is skipped where there is no device
    EXPECT_THAT(examined(check, [](const Device&) { return Training(); }).text,
                HasSubstr("left its module empty"));
    EXPECT_THAT(examined(check,
                         [](const Device& device) {
                           Training t = training()(device);
                           t.loss = nullptr;
                           return t;
                         })
                    .text,
                HasSubstr("left its loss empty"));
  }
}

}  // namespace
}  // namespace wick
