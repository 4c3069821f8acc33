// A model and its external data file change places together: if either cannot, the old ones are
// there, whole. Every rename of this program goes through here and can be made to fail.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>

#include "exporter/onnx/file/two_files.h"
#include "tests/exporter/model_builder.h"
#include "tests/support/error_of.h"
#include "tests/support/where.h"

namespace {
int g_renames = 0, g_fails_at = 0, g_dies_after = -1;  // 0: none; -1: never
}  // namespace

extern "C" int rename(const char* from, const char* to) noexcept {
  if (g_renames == g_dies_after) _exit(0);
  if (++g_renames == g_fails_at) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// y = x + a constant of 4 KiB.
ir::Graph adding(float value) {
  Build b;
  b.input("x", DType::kF32, {"1024"}).constant("w", row(std::vector<float>(1024, value)));
  return import_onnx_bytes(b.add(node("Add", {"x", "w"}, {"y"})).output("y").bytes());
}

struct TwoFiles : testing::Test {
  TwoFiles() : folder(fs::path(build_dir()) / "test-work" / "two-files") {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~TwoFiles() override { g_fails_at = 0; }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(folder)) {
      std::ifstream in(entry.path(), std::ios::binary);
      all[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return all;
  }
  std::string write(float value, int fails_at = 0) {
    g_renames = 0, g_fails_at = fails_at;
    const std::string what = error_of(
        [&] { export_onnx(adding(value), (folder / "m.onnx").string(), {.external_data = true}); });
    g_fails_at = 0;
    return what;
  }
  float weight() const {
    const auto y = ir::run(import_onnx((folder / "m.onnx").string()),
                           std::vector<HostTensor>{row(std::vector<float>(1024))});
    return *y[0].as<float>();
  }
  fs::path folder;
};

// Killed between two of its renames, the writer leaves what the next one puts back or removes.
TEST_F(TwoFiles, WhatAKilledWriterLeftIsPutBack) {
  for (int renames : {0, 1, 2, 3}) {
    ASSERT_EQ(write(1), "no error");
    const pid_t child = fork();
    if (child == 0) {
      g_dies_after = renames;
      write(2);
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << renames;
    onnx::restore_both((folder / "m.onnx.data").string(), (folder / "m.onnx").string());
    EXPECT_EQ(weight(), 1) << renames;
    EXPECT_EQ(write(3), "no error");
    EXPECT_EQ(weight(), 3) << renames;
    EXPECT_EQ(files().size(), 2u) << renames;
  }
  // Both new ones are in their places: the old ones go.
  ASSERT_EQ(write(1), "no error");
  for (const char* name : {"m.onnx", "m.onnx.data"}) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    std::ofstream(folder / (std::string(name) + ".old." + std::to_string(child) + ".0")) << "old";
  }
  EXPECT_EQ(files().size(), 4u);
  onnx::restore_both((folder / "m.onnx.data").string(), (folder / "m.onnx").string());
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(weight(), 1);
}

// The file behind a link to the model is the one that changes places.
TEST_F(TwoFiles, AModelBehindALinkIsReplacedThere) {
  const fs::path link = folder / "m.onnx", data = folder / "m.onnx.data", far = folder / "far.onnx";
  fs::create_symlink("far.onnx", link);
  ASSERT_EQ(write(1), "no error");
  EXPECT_EQ(weight(), 1);
  for (int fails_at = 1; fails_at <= 4; ++fails_at) {
    EXPECT_THAT(write(2, fails_at), HasSubstr("cannot replace")) << fails_at;
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(weight(), 1) << fails_at;
  }
  ASSERT_EQ(write(3), "no error");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(far)));
  EXPECT_EQ(weight(), 3);
  EXPECT_EQ(files().size(), 3U);
  fs::rename(data, folder / "elsewhere");
  fs::create_symlink("elsewhere", data);
  EXPECT_THAT(write(4), HasSubstr("m.onnx.data: it is a symbolic link"));
  EXPECT_EQ(files().size(), 4U);
}

TEST_F(TwoFiles, TheFirstExportLeavesBothOrNothing) {
  for (int fails_at : {1, 2}) {
    EXPECT_THAT(write(1, fails_at), HasSubstr("m.onnx")) << fails_at;
    EXPECT_TRUE(files().empty()) << fails_at;
  }
  EXPECT_EQ(write(1), "no error");
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(weight(), 1);
}

TEST_F(TwoFiles, AFailureLeavesTheOldModelWithItsOwnData) {
  ASSERT_EQ(write(1), "no error");
  const auto before = files();
  int fails_at = 1;
  for (; fails_at < 20; ++fails_at) {
    if (write(2, fails_at) == "no error") break;
    EXPECT_EQ(files(), before) << fails_at;
    EXPECT_EQ(weight(), 1) << fails_at;
  }
  EXPECT_EQ(fails_at, 5);  // both out of the way, both into their places
  EXPECT_EQ(weight(), 2);
  EXPECT_EQ(files().size(), 2u);  // nothing else is left
}

}  // namespace
}  // namespace wick::test
