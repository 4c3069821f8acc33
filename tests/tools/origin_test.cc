// The origin of a file: the run, its data and the passes, by one digest from train to inspect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/idx_images.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Origin, OneDigestForARunAndItsFiles) {
  const TrainedRun& run = trained_run();
  const std::string digest = run.report.at("kept_weights_sha256");
  EXPECT_EQ(digest.size(), 64u);
  for (const std::string& file : {run.wick, run.onnx}) {
    const auto doc = parse_json(wick({"inspect", file, "--json"}).out);
    EXPECT_EQ(doc.at("metadata").at("wick.run_sha256"), digest) << file;
    EXPECT_EQ(doc.at("metadata").at("wick.data_sha256").get<std::string>().size(), 64u) << file;
    EXPECT_THAT(wick({"inspect", file}).out, HasSubstr("run weights sha256 " + digest));
  }
  const auto doc = parse_json(wick({"inspect", run.wick, "--json"}).out);
  EXPECT_NE(doc.at("metadata").at("wick.passes"), "");
  EXPECT_EQ(doc.at("provenance").at("wick_version"), "0.1.0");
}

// The digest is of the images: one that changes is another run, and resuming says so.
TEST(Origin, ARunDoesNotGoOnWithOtherData) {
  const std::string images = scratch() + "/origin_images", out = scratch() + "/origin_run";
  write_images(images, 64, 16);
  const std::vector<std::string> train = {"train", "mlp",     "--data",   images, "--out",
                                          out,     "--quiet", "--epochs", "1"};
  ASSERT_EQ(wick(train).code, 0);
  std::vector<std::string> resume = train;
  resume.push_back("--resume");
  EXPECT_EQ(wick(resume).code, 0);
  for (const auto& entry : fs::directory_iterator(images)) {
    const std::string path = entry.path().string();
    if (path.find("train-images") == std::string::npos) continue;
    std::string bytes = read_file(path);
    ASSERT_EQ(path.ends_with(".gz"), false);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_file(path, bytes);
  }
  const Ran other = wick(resume);
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err,
              AllOf(HasSubstr("cannot resume"), HasSubstr("not those it was trained on")));
}

}  // namespace
}  // namespace wick::test
