// The command line's report of where steps run, what memory they take there, and whether a device
// computes rightly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Files {
  std::string model = scratch() + "/placed.onnx", x = scratch() + "/placed.npy";
  Files() {
    export_onnx(split_graph(), model);
    write_npy_f32(x, {5, 3});
  }
};

bool no_device() {
  return parse_json(wick({"devices", "--json"}).out).at("vulkan").at("devices").empty();
}

TEST(Explain, OnTheCpu) {
  const Files f;
  const Ran r = wick({"run", f.model, "-i", f.x, "--explain"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out,
              AllOf(ContainsRegex("step +op +node +where"), ContainsRegex("Sinh .* cpu +sinh"),
                    HasSubstr("5 steps: 0 on the device, 5 on the CPU\n")));
  const nlohmann::json doc =
      parse_json(wick({"run", f.model, "-i", f.x, "--explain", "--json"}).out);
  EXPECT_EQ(doc.at("outputs").size(), 1u);
  const nlohmann::json& steps = doc.at("explain").at("steps");
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[2].at("op"), "Sinh");
  EXPECT_EQ(steps[2].at("backend"), "cpu");
  EXPECT_EQ(steps[2].at("why"), "");
  EXPECT_EQ(doc.at("explain").at("totals").at("copies_inside"), 0);
}

TEST(Explain, OnADeviceWithReasonsAndCopies) {
  if (no_device()) GTEST_SKIP() << "no Vulkan device";
  const Files f;
  auto explain = [&](const char* offload) {
    const Ran r = wick({"run", f.model, "-i", f.x, "--backend", "vulkan", "--offload", offload,
                        "--explain", "--json"});
    EXPECT_EQ(r.code, 0) << r.err;
    return parse_json(r.out).at("explain");
  };
  const nlohmann::json all = explain("all"), pays = explain("pays");
  EXPECT_EQ(all.at("steps")[0].at("backend"), "vulkan");
  EXPECT_THAT(all.at("steps")[2].at("why").get<std::string>(), StartsWith("no shader for this "));
  EXPECT_GE(all.at("steps")[0].at("kernels").size(), 1u);
  EXPECT_GE(all.at("steps")[0].at("kernels")[0].at("group_size")[0], 1);
  EXPECT_GE(all.at("totals").at("on_device"), 2);
  EXPECT_EQ(all.at("totals").at("copies_inside"), 2);
  ASSERT_EQ(all.at("copies").size(), 4u);
  const std::string reader = all.at("copies")[1].at("other");
  EXPECT_THAT(reader, AnyOf(StartsWith("Sinh"), StartsWith("Cast")));
  EXPECT_THAT(pays.at("steps")[0].at("why").get<std::string>(), StartsWith("it does not pay: "));
  EXPECT_EQ(pays.at("totals").at("on_device"), 0);
  const Ran text = wick({"run", f.model, "-i", f.x, "--backend", "vulkan", "--offload", "all",
                         "--explain", "--profile"});
  EXPECT_THAT(text.out, AllOf(ContainsRegex("\n +> copy x float32.*, the program's input\n"),
                              ContainsRegex("\n +< copy .*, for (Sinh|Cast)"),
                              ContainsRegex("\n +> copy .*, made by (Sinh|Cast)"),
                              HasSubstr("between CPU and device inside the model: 2 copies"),
                              ContainsRegex("\ntimes +kernel +group +shared")));
  // The times: a kernel of the device with its work groups, a row of the CPU, the copies.
  EXPECT_THAT(text.out, AllOf(ContainsRegex("vulkan +[a-z0-9_]+ .[0-9]+,[0-9]+,[0-9]+."),
                              ContainsRegex("Sinh .*cpu +sinh"), HasSubstr("submit and wait"),
                              HasSubstr("copy out")));
}

TEST(Explain, BenchHasTheSameAndTimes) {
  const Ran r =
      wick({"bench", trained_run().wick, "--seconds", "0.02", "--explain", "--profile", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  const nlohmann::json row = parse_json(r.out)[0];
  const nlohmann::json& steps = row.at("explain").at("steps");
  size_t run = 0;
  for (const nlohmann::json& s : steps) run += s.at("index") >= 0 ? 1 : 0;
  ASSERT_GT(run, 0u);
  for (const nlohmann::json& line : row.at("profile")) {
    EXPECT_GT(line.at("ms"), 0);
    EXPECT_EQ(line.at("times"), row.at("runs")) << line;
  }
}

// What a model's kernels do on a device ships with it: the next machine of this kind checks
// nothing.
TEST(Warm, ACacheIsTakenOrSaysWhyNot) {
  const Files f;
  const std::string cache = scratch() + "/placed.cache";
  if (no_device()) {
    const Ran r = wick({"devices", "--warm", f.model, "-o", cache});
    EXPECT_EQ(r.code, 1);
    EXPECT_THAT(r.err, AllOf(StartsWith("wick: vulkan: "), HasSubstr("`wick devices`")));
    GTEST_SKIP() << r.err;
  }
  const Ran made = wick({"devices", "--warm", f.model, "-o", cache, "--json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_GT(parse_json(made.out).at("checked"), 0);
  EXPECT_GT(parse_json(made.out).at("bytes"), 96);
  const Ran plain = wick({"run", f.model, "-i", f.x, "--backend", "vulkan"});
  const Ran warm =
      wick({"run", f.model, "-i", f.x, "--backend", "vulkan", "--device-cache", cache});
  EXPECT_EQ(warm.code, 0) << warm.err;
  EXPECT_EQ(warm.out, plain.out);
  EXPECT_THAT(warm.err, Not(HasSubstr("is not used")));
  const Ran refused =
      wick({"run", f.model, "-i", f.x, "--backend", "vulkan", "--device-cache", f.model});
  EXPECT_EQ(refused.code, 0) << refused.err;
  EXPECT_EQ(refused.out, plain.out);
  EXPECT_THAT(refused.err, HasSubstr("is not used: it is no cache of a model's kernels"));
  const Ran unchecked =
      wick({"run", f.model, "-i", f.x, "--backend", "vulkan", "--skip-kernel-checks"});
  EXPECT_EQ(unchecked.code, 0) << unchecked.err;
  const Ran sized = wick({"devices", "--warm", f.model, "-o", cache, "--batch", "2,3"});
  EXPECT_EQ(sized.code, 0) << sized.err;
  EXPECT_THAT(sized.out, HasSubstr(" kernels checked on "));
}

// A program's entry points have kernels of their own, and run with a state where they keep one.
TEST(Warm, EveryEntryPointIsRun) {
  if (no_device()) GTEST_SKIP() << "no Vulkan device";
  std::vector<ir::Entry> entries = {{"write", {}, {{"s", "s", "s.next"}}},
                                    {"read", {}, {{"s", "s", ""}}}};
  SymShape shape = to_symbolic(Shape{4, 64});
  for (ir::Entry& entry : entries) {
    ir::Graph& g = entry.graph;
    shape[0] = g.symbol("n", 1, 8);
    const ir::ValueId s = g.add_input("s", DType::kF32, shape);
    if (entry.name == "read") {
      g.add_output("y", g.emit(OpId::kSoftmax, AxisAttrs{-1}, {s}));
      continue;
    }
    const ir::ValueId next = g.emit(OpId::kAdd, {g.add_input("x", DType::kF32, shape), s});
    g.add_output("y", g.emit(OpId::kNeg, {next}));
    g.add_output("s.next", next);
  }
  const std::string both = scratch() + "/states.wick", one = scratch() + "/one_state.wick";
  export_wick(entries, both);
  export_wick({entries[0]}, one);
  auto checked = [](const std::string& model) {
    const Ran r = wick(
        {"devices", "--warm", model, "-o", scratch() + "/states.cache", "--dim", "n=4", "--json"});
    EXPECT_EQ(r.code, 0) << r.err;
    return r.code == 0 ? parse_json(r.out).at("checked").get<int>() : -1;
  };
  const int of_one = checked(one);
  EXPECT_GT(of_one, 0);
  EXPECT_GT(checked(both), of_one);
}

TEST(SelfTest, EveryKernelOrNoDevice) {
  const Ran r = wick({"selftest", "--json"});
  if (no_device()) {
    EXPECT_EQ(r.code, 1);
    EXPECT_THAT(r.err, StartsWith("wick: vulkan: "));
    GTEST_SKIP() << r.err;
  }
  EXPECT_EQ(r.code, 0) << r.out;
  const nlohmann::json doc = parse_json(r.out);
  EXPECT_EQ(doc.at("ok"), true);
  EXPECT_GT(doc.at("calls"), 100);
  EXPECT_EQ(doc.at("on_the_cpu").size(), 0u);
  const nlohmann::json kernels =
      parse_json(wick({"devices", "-v", "--json"}).out).at("vulkan").at("kernels");
  EXPECT_EQ(doc.at("kernels").size() + doc.at("unused").size(), kernels.size());
  for (const nlohmann::json& k : kernels) EXPECT_GE(k.at("group_size")[0], 1);
  EXPECT_THAT(wick({"devices", "-v"}).out, ContainsRegex("\nkernel +group +shared +buffers\n"));
}

TEST(SelfTest, WithoutADeviceItSaysSo) {
  setenv("VK_ICD_FILENAMES", "/nonexistent", 1);
  setenv("VK_DRIVER_FILES", "/nonexistent", 1);
  const Ran r = wick({"selftest"});
  unsetenv("VK_ICD_FILENAMES");
  unsetenv("VK_DRIVER_FILES");
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, StartsWith("wick: vulkan: "));
  EXPECT_EQ(r.out, "");
}

}  // namespace
}  // namespace wick::test
