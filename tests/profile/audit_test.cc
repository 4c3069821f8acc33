// The determinism audit: a planted op that counts its calls is named, with its line, in forward and
// in backward; and deterministic code passes.
#include "trainer/profile/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "runtime/include/wick/custom_op.h"
#include "runtime/registry/registry.h"
#include "tests/profile/models.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using test::error_of;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::atomic<int> g_calls{0};

// x + 1e-6 * (how often it ran): what a race or an unseeded generator looks like.
Status drift(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const float extra = 1e-6f * static_cast<float>(g_calls++);
  for (int64_t i = 0; i < out[0].numel(); ++i) out[0].as<float>()[i] = in[0].as<float>()[i] + extra;
  return {};
}
// Depends on how many threads there are.
Status of_threads(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  const float extra = ctx.pool != nullptr ? 1.f : 0.f;
  for (int64_t i = 0; i < out[0].numel(); ++i) out[0].as<float>()[i] = in[0].as<float>()[i] + extra;
  return {};
}
constexpr KernelRow kDriftRows[] = {kernel_row<float>("drift.f32", drift)};
constexpr KernelRow kThreadRows[] = {kernel_row<float>("of_threads.f32", of_threads)};
constexpr CustomOp kDrift = {.domain = "test", .name = "Drift", .kernels = kDriftRows};
constexpr CustomOp kOfThreads = {.domain = "test", .name = "OfThreads", .kernels = kThreadRows};

class Audit : public testing::Test {
 protected:
  Audit() {
    register_op(kDrift);
    register_op(kOfThreads);
  }
};

nn::NamedTensors step(const std::function<Tensor(const Tensor&)>& between) {
  manual_seed(7);
  test::Mlp model;
  optim::SGD optimizer(model.parameters(), {.lr = 0.1});
  for (int i = 0; i < 2; ++i) {
    optimizer.zero_grad();
    Tensor x = between(randn({8, 64}));
    cross_entropy(model(x), zeros({8}, DType::kI64)).backward();
    optimizer.step();
  }
  return model.state_dict();
}

TEST_F(Audit, DeterministicStepsPass) {
  const int threads = num_threads();
  const AuditResult r = audit_determinism([] { return step([](const Tensor& x) { return x; }); });
  EXPECT_TRUE(r.deterministic) << r.text();
  EXPECT_EQ(r.runs, 5);
  EXPECT_GT(r.ops, 20);
  EXPECT_THAT(r.text(), HasSubstr("gave the same bits in 5 runs"));
  EXPECT_EQ(num_threads(), threads);
}

TEST_F(Audit, NamesThePlantedOpAndItsLine) {
  int line = 0;
  const AuditResult r = audit_determinism([&] {
    return step([&](const Tensor& x) {
      line = __LINE__ + 1;
      return custom_op("test::Drift", {x * 2});
    });
  });
  EXPECT_FALSE(r.deterministic);
  EXPECT_EQ(r.op, "test::Drift");
  EXPECT_EQ(r.run, 2);
  EXPECT_FALSE(r.backward);
  EXPECT_THAT(r.where, EndsWith("audit_test.cc:" + std::to_string(line)));
  EXPECT_EQ(r.shapes, "float32[8,64] -> float32[8,64]");
  EXPECT_THAT(r.text(),
              HasSubstr("test::Drift float32[8,64] -> float32[8,64]: its result differs"));
}

TEST_F(Audit, NamesAnOpThatDependsOnThreads) {
  const AuditResult r = audit_determinism(
      [&] { return step([](const Tensor& x) { return custom_op("test::OfThreads", {x}); }); },
      {.threads = {1, 1, 2}});
  EXPECT_FALSE(r.deterministic);
  EXPECT_EQ(r.op, "test::OfThreads");
  EXPECT_EQ(r.run, 3);
  EXPECT_EQ(r.threads, 2);
}

TEST_F(Audit, NamesAnOpThatDidNotRunAgain) {
  int calls = 0;
  const auto f = [&] {
    Tensor x = ones({3});
    if (calls++ == 0) x = exp(x);
    sum(x + 1);
    return nn::NamedTensors();
  };
  const AuditResult r = audit_determinism(f);
  EXPECT_FALSE(r.deterministic);
  EXPECT_THAT(r.text(), HasSubstr("the first run had Exp there"));
}

TEST_F(Audit, SeesWhatIsNoOp) {
  float next = 0;
  const AuditResult r = audit_determinism([&] {
    return nn::NamedTensors{{"same", ones({2})}, {"fc.weight", full({2}, next++)}};
  });
  // full() is an op or a plain fill; either way something is named
  EXPECT_FALSE(r.deterministic);
  EXPECT_THAT(r.text(), testing::AnyOf(HasSubstr("fc.weight"), HasSubstr("its result differs")));
}

TEST_F(Audit, RefusesWhatItCannotCompare) {
  EXPECT_THAT(error_of([] { audit_determinism(nullptr); }), HasSubstr("no function"));
  EXPECT_THAT(
      error_of([] { audit_determinism([] { return nn::NamedTensors(); }, {.threads = {1}}); }),
      HasSubstr("at least two runs, got 1"));
  EXPECT_THAT(error_of([] {
                audit_determinism([] { return nn::NamedTensors(); }, {.threads = {1, -2}});
              }),
              HasSubstr("must not be negative"));
}

}  // namespace
}  // namespace wick
