// The profiler: every slice in its parent, figures against hand calculation, parts of a step, and
// that profiling changes nothing.
#include "trainer/profile/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/profile/models.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/profile/timer.h"

namespace wick {
namespace {

using nlohmann::json;
using test::error_of;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr Roofline kRoof{.flops_per_second = 1e11, .bytes_per_second = 1e10, .threads = 1};

struct Job {
  test::Mlp model;
  optim::SGD optimizer{model.parameters(), {.lr = 0.1, .momentum = 0.9}};
  Tensor x = randn({16, 64});
  Tensor y = zeros({16}, DType::kI64);
  double step() {
    optimizer.zero_grad();
    Tensor loss = cross_entropy(model(x), y);
    loss.backward();
    optimizer.step();
    return loss.item();
  }
};

Profile profile_of(int steps) {
  manual_seed(0);
  Job job;
  job.step();
  Profiler profiler;
  for (int i = 0; i < steps; ++i) job.step();
  return profiler.stop();
}

TEST(Profiler, EverySliceLiesInItsParent) {
  const Profile p = profile_of(3);
  ASSERT_GT(p.slices.size(), 30u);
  int kinds[4] = {};
  for (const ProfileSlice& s : p.slices) {
    ++kinds[static_cast<int>(s.kind)];
    EXPECT_LE(s.begin_ns, s.end_ns);
    if (s.parent < 0) continue;
    const ProfileSlice& outer = p.slices.at(static_cast<size_t>(s.parent));
    EXPECT_LE(outer.begin_ns, s.begin_ns) << s.name << " in " << outer.name;
    EXPECT_GE(outer.end_ns, s.end_ns) << s.name << " in " << outer.name;
    EXPECT_EQ(s.depth, outer.depth + 1);
    EXPECT_NE(outer.kind, SliceKind::kKernel);
  }
  for (int n : kinds) EXPECT_GT(n, 0);
}

// Reads complete events of one thread as Chrome and Perfetto do: a slice belongs to the open one in
// which it begins, and must end in it.
TEST(Profiler, ChromeTraceIsNestedJson) {
  const Profile p = profile_of(2);
  const json doc = json::parse(p.chrome_trace(kRoof));
  std::vector<std::pair<double, double>> open;
  size_t slices = 0, kernels = 0;
  double last = 0;
  for (const json& e : doc.at("traceEvents")) {
    if (e.at("ph") == "M") continue;
    ASSERT_EQ(e.at("ph"), "X");
    const double begin = e.at("ts"), end = begin + e.at("dur").get<double>();
    EXPECT_GE(begin, last);
    last = begin;
    while (!open.empty() && open.back().second <= begin + 1e-4) open.pop_back();
    if (!open.empty()) {
      EXPECT_LE(end, open.back().second + 1e-3) << e.dump();
    }
    open.emplace_back(begin, end);
    ++slices;
    if (!e.at("cat").get<std::string>().ends_with("op")) continue;
    ++kernels;
    const json& a = e.at("args");
    EXPECT_THAT(a.at("shapes").get<std::string>(), HasSubstr("-> "));
    EXPECT_GT(a.at("bytes").get<double>(), 0);
    EXPECT_GE(a.at("flops").get<double>(), 0);
    EXPECT_TRUE(a.at("bound") == "memory" || a.at("bound") == "compute");
    EXPECT_TRUE(a.contains("kernel"));
  }
  EXPECT_EQ(slices, p.slices.size());
  EXPECT_GT(kernels, 20u);
}

TEST(Profiler, OpsKnowLineModuleAndCost) {
  const Profile p = profile_of(1);
  int linear = 0, backward = 0;
  for (const ProfileSlice& s : p.slices) {
    if (s.name == "linear" && s.module == "fc1" && !s.backward) {
      ++linear;
      EXPECT_EQ(s.shapes, "float32[16,64] float32[32,64] float32[32] -> float32[16,32]");
      EXPECT_EQ(s.cost.macs, 1. * 16 * 64 * 32);
      EXPECT_EQ(s.cost.bytes(), 4. * (16 * 64 + 32 * 64 + 32 + 16 * 32));
      EXPECT_THAT(s.where, HasSubstr("profiler_test.cc:"));  // where the model is called
      EXPECT_THAT(s.kernel, HasSubstr("f32"));
      EXPECT_EQ(p.slices[static_cast<size_t>(s.parent)].name, "fc1");
    }
    if (s.name == "matmul" && s.backward && s.module == "fc2") {
      ++backward;
      EXPECT_EQ(s.cost.macs, 1. * 16 * 32 * 10);
      const ProfileSlice& node = p.slices[static_cast<size_t>(s.parent)];
      EXPECT_EQ(node.name, "LinearBackward0");
      EXPECT_EQ(p.slices[static_cast<size_t>(node.parent)].name, "backward");
    }
  }
  EXPECT_EQ(linear, 1);
  EXPECT_EQ(backward, 2);  // towards the input and towards the weight
}

TEST(Profiler, AnatomyTellsThePartsOfAStep) {
  const Profile p = profile_of(5);
  const StepAnatomy a = p.anatomy();
  EXPECT_EQ(a.steps, 5);
  for (double part : {a.zero_grad, a.forward, a.loss, a.backward, a.optimizer}) EXPECT_GT(part, 0);
  EXPECT_EQ(a.loader, 0);
  EXPECT_NEAR(a.total(), p.seconds, 1e-9);
  // loss() runs between the model and backward, and item() after all of it
  double kernels_of_loss = 0;
  for (const ProfileSlice& s : p.slices) {
    if (s.kind == SliceKind::kKernel && !s.backward && s.parent < 0) kernels_of_loss += s.seconds();
  }
  EXPECT_GE(a.loss, kernels_of_loss * 0.99);
  EXPECT_THAT(a.text(), ContainsRegex("5 steps.*each\n.*loader.*0\\.0%\n"));

  // ranges of one's own decide
  Profiler profiler;
  {
    ProfileRange loader("loader");
    volatile double busy = 0;
    for (int i = 0; i < 300000; ++i) busy = busy + std::sqrt(double(i));
  }
  const StepAnatomy own = profiler.stop().anatomy();
  EXPECT_GT(own.loader, 0.9 * own.total());
}

TEST(Profiler, TablesAccountForAllTime) {
  const Profile p = profile_of(4);
  double sum = 0;
  bool optimizer = false;
  for (const ProfileRow& r : p.rows(ProfileBy::kOp, kRoof)) {
    sum += r.seconds;
    optimizer = optimizer || r.name == "[optimizer]";
    EXPECT_LE(r.backward_seconds, r.seconds);
  }
  EXPECT_NEAR(sum, p.seconds, p.seconds * 1e-6);
  EXPECT_TRUE(optimizer);
  std::vector<std::string> modules;
  for (const ProfileRow& r : p.rows(ProfileBy::kModule, kRoof)) modules.push_back(r.name);
  EXPECT_THAT(modules, testing::UnorderedElementsAre("fc1", "fc2", "(outside of modules)"));
  for (const ProfileRow& r : p.rows(ProfileBy::kLine, kRoof))
    EXPECT_THAT(r.name, ContainsRegex("_test.cc:|models.h:|\\(no line\\)"));
  const std::string text = p.table(ProfileBy::kOp, 3, kRoof);
  EXPECT_THAT(text, HasSubstr("and "));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;  // head, 3 rows, rest, sum
}

TEST(Profiler, RoofTellsComputeFromMemory) {
  EXPECT_EQ(kRoof.ridge(), 10);
  EXPECT_STREQ(kRoof.bound(1000, 100), "compute");
  EXPECT_STREQ(kRoof.bound(999, 100), "memory");
  EXPECT_STREQ(kRoof.bound(0, 0), "-");
  EXPECT_EQ(kRoof.roof(100, 100), 1e10);
  EXPECT_EQ(kRoof.roof(1e6, 100), 1e11);
  const Tensor a = randn({256, 256});
  Profiler profiler;
  matmul(a, a);
  a + 1;
  const Profile& p = profiler.stop();
  ASSERT_EQ(p.slices.size(), 2u);
  // 2 n^3 / 12 n^2 = 42.7 FLOPs a byte; an addition 1/8
  EXPECT_STREQ(kRoof.bound(p.slices[0].cost.flops(), p.slices[0].cost.bytes()), "compute");
  EXPECT_STREQ(kRoof.bound(p.slices[1].cost.flops(), p.slices[1].cost.bytes()), "memory");
  const Roofline here = machine_roofline();
  EXPECT_GT(here.flops_per_second, 0);
  EXPECT_GT(here.bytes_per_second, 0);
  EXPECT_EQ(machine_roofline().flops_per_second, here.flops_per_second);  // measured once
}

TEST(Profiler, ChangesNoBit) {
  auto weights = [](bool watched) {
    manual_seed(3);
    Job job;
    std::optional<Profiler> profiler;
    if (watched) profiler.emplace();
    for (int i = 0; i < 4; ++i) job.step();
    return state_sha256(job.model.state_dict());
  };
  EXPECT_EQ(weights(true), weights(false));
}

// The figure of docs/use/profile.md. Time is asserted only in the part `timing` of the full run.
TEST(Profiler, OverheadIsStated) {
  manual_seed(0);
  Job job;
  auto steps = [&] {
    Timer timer;
    for (int i = 0; i < 50; ++i) job.step();
    return timer.seconds();
  };
  steps();
  double plain = 1e9, watched = 1e9;
  size_t slices = 0;
  for (int k = 0; k < 5; ++k) {
    plain = std::min(plain, steps());
    Profiler profiler;
    watched = std::min(watched, steps());
    slices = profiler.stop().slices.size();
  }
  const double each = (watched - plain) / static_cast<double>(slices) * 1e9;
  std::cout << "profiler: " << each << " ns a slice, " << slices / 50 << " slices a step of "
            << plain / 50 * 1e6 << " us\n";
  EXPECT_GT(slices, 50u);  // every step was watched
  if (getenv("WICK_TEST_FULL") == nullptr) return;
  EXPECT_LT(each, 50e3);
}

TEST(Profiler, SurvivesExceptionsAndItsLimit) {
  manual_seed(0);
  Job job;
  Profiler profiler({.max_slices = 20});
  {
    ProfileRange outer("outer");
    try {
      ProfileRange inner("inner");
      job.model(zeros({2, 3}));
    } catch (const Error&) {
    }
    for (int i = 0; i < 3; ++i) job.step();
  }
  const Profile& p = profiler.stop();
  EXPECT_EQ(p.slices.size(), 20u);
  EXPECT_GT(p.dropped, 10);
  for (const ProfileSlice& s : p.slices) {
    EXPECT_GE(s.end_ns, s.begin_ns);
    if (s.name != "outer") {
      EXPECT_GE(s.parent, 0) << s.name;
    }
  }
  EXPECT_THAT(p.table(ProfileBy::kOp, 3, kRoof), HasSubstr("beyond the limit"));
}

TEST(Profiler, TraceIsWrittenOrRefused) {
  const Profile p = profile_of(1);
  const std::string path = wick::test::temp_folder() + "wick_profile_trace.json";
  p.save_chrome_trace(path);
  EXPECT_NE(error_of([&] { p.save_chrome_trace("/nowhere/trace.json"); }), "");
  std::remove(path.c_str());
}

TEST(Profiler, Nests) {
  Profiler outer;
  const Tensor a = ones({2});
  a + 1;
  {
    Profiler inner;
    a + 2;
    EXPECT_EQ(inner.stop().slices.size(), 1u);
  }
  a + 3;
  EXPECT_EQ(outer.stop().slices.size(), 3u);
}

}  // namespace
}  // namespace wick
