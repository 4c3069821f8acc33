// wick roofline and wick doctor: figures against each other, the page in a browser, a healthy run,
// and a run with a planted fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "tests/tools/command_line.h"
#include "trainer/checkpoint/safetensors.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(Roofline, PlacesEveryOpOfAStep) {
  const std::string page = scratch() + "/roofline.html";
  const Ran r = wick({"roofline", "mlp", "--data", trained_run().images, "--batch", "32", "--steps",
                      "2", "-o", page, "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  const nlohmann::json doc = parse_json(r.out);
  EXPECT_GT(doc.at("peak_flops_per_second"), 1e8);
  EXPECT_GT(doc.at("peak_bytes_per_second"), 1e8);
  const double ridge =
      doc["peak_flops_per_second"].get<double>() / doc["peak_bytes_per_second"].get<double>();
  bool linear = false, backward = false;
  for (const nlohmann::json& p : doc.at("points")) {
    const double flops = p.at("flops"), bytes = p.at("bytes"), seconds = p.at("seconds");
    EXPECT_NEAR(p.at("intensity").get<double>(), flops / bytes, 1e-9 * flops / bytes + 1e-12);
    EXPECT_EQ(p.at("verdict"), flops / bytes >= ridge ? "compute-bound" : "memory-bound");
    if (seconds > 0) {
      EXPECT_NEAR(p.at("gflops").get<double>(), flops / seconds / 1e9,
                  1e-6 * flops / seconds / 1e9);
    }
    backward = backward || p.at("backward").get<bool>();
    if (p.at("op") != "linear" ||
        p.at("shapes").get<std::string>().find("[512,784]") == std::string::npos)
      continue;
    linear = true;  // 784 products and a sum for each of 32 x 512 results, in 2 steps
    EXPECT_EQ(p.at("calls"), 2);
    EXPECT_EQ(flops, 2. * (2. * 32 * 784 * 512 + 32 * 512));
    EXPECT_EQ(bytes, 2. * 4 * (32 * 784 + 512 * 784 + 512 + 32 * 512));
  }
  EXPECT_TRUE(linear);
  EXPECT_TRUE(backward);
  EXPECT_THAT(read_file(page), HasSubstr("Ops under the roof"));
  const Ran text = wick({"roofline", "mlp", "--data", trained_run().images, "--top", "3"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, ContainsRegex("mlp on 64 images of .*, 5 steps, "));
  EXPECT_THAT(text.out, ContainsRegex("GFLOP/s, .* GB/s; compute-bound from "));
  EXPECT_THAT(text.out, ContainsRegex("and [0-9]+ more\n.* ms in ops: .* % compute-bound"));
}

TEST(RooflineInBrowser, DrawsItself) {
  const Ran where = shell("command -v chromium || command -v chromium-browser");
  const std::string browser = where.out.substr(0, where.out.find('\n'));
  if (browser.empty()) GTEST_SKIP() << "chromium not installed";
  const std::string page = scratch() + "/drawn.html";
  ASSERT_EQ(wick({"roofline", "mlp", "--data", trained_run().images, "-o", page}).code, 0);
  const Ran dom = shell("HOME=" + shell_word(scratch()) + " timeout 300 " + browser +
                        " --headless --no-sandbox --disable-gpu --user-data-dir=" +
                        shell_word(scratch() + "/roofline-browser") +
                        " --virtual-time-budget=3000 --dump-dom " + shell_word("file://" + page));
  EXPECT_THAT(dom.out.substr(0, 300), HasSubstr("data-status=\"ready\""));
  EXPECT_THAT(dom.out, ContainsRegex("<circle [^>]*><title>linear"));
}

TEST(Doctor, AHealthyRun) {
  const Ran r = wick({"doctor", trained_run().run, "--batch", "16", "--json"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  const nlohmann::json doc = parse_json(r.out);
  EXPECT_TRUE(doc.at("healthy"));
  std::vector<std::string> checks;
  for (const nlohmann::json& f : doc.at("findings")) {
    checks.push_back(f.at("check"));
    EXPECT_NE(f.at("verdict"), "found") << f.dump();
    if (f.at("check") != "vulkan") {
      EXPECT_EQ(f.at("verdict"), "ok") << f.dump();
    }
  }
  EXPECT_THAT(checks, ::testing::ElementsAre("nan", "leak", "determinism", "reference", "bf16",
                                             "vulkan", "compile", "export"));
}

// A unit of a trained run gets weights whose products overflow: its layer is named, exit code 3.
TEST(Doctor, ARunWhoseWeightsOverflow) {
  const std::string run = scratch() + "/poisoned";
  fs::create_directories(run);
  Safetensors weights = load_safetensors(trained_run().run + "/best.safetensors");
  bool poisoned = false;
  for (auto& [name, tensor] : weights.tensors) {
    if (poisoned || tensor.dim() != 2) continue;
    for (int64_t i = 0; i < tensor.size(1); ++i) tensor.mutable_data<float>()[i] = 3e38f;
    poisoned = true;
  }
  ASSERT_TRUE(poisoned);
  save_safetensors(run + "/best.safetensors", weights.tensors, weights.metadata);
  const Ran r = wick({"doctor", run, "--check", "nan", "--check", "leak", "--batch", "16"});
  EXPECT_EQ(r.code, 3) << r.out << r.err;
  EXPECT_THAT(r.out, ContainsRegex("nan +FOUND +step 1: \\[linear\\] in module"));
  EXPECT_THAT(r.out, ContainsRegex("leak +ok "));
}

}  // namespace
}  // namespace wick::test
