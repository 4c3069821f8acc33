// Paths that a user names for reading: pipes, devices, sockets and folders are refused, not waited
// for.
#include "runtime/core/regular_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/not_files.h"
#include "wick/runtime.h"
#include "wick/wick.h"

namespace wick {
namespace {

using ::testing::HasSubstr;

TEST(RegularFiles, OnlyThoseAreOpened) {
  const test::NotFiles all;
  for (const auto& [path, refusal] : all) {
    RegularFile file;
    Status s = file.open(path.c_str());
    EXPECT_EQ(s.code(), Code::kIo) << path;
    EXPECT_THAT(s.message(), HasSubstr(refusal)) << path;
  }
  RegularFile none;
  Status s = none.open((all.folder() + "/none").c_str());
  EXPECT_EQ(s.code(), Code::kNotFound);
  EXPECT_STREQ(s.message(), "No such file or directory");
}

TEST(RegularFiles, AreReadWhole) {
  const test::NotFiles all;
  const std::string path = all.folder() + "/a.bin";
  std::ofstream(path, std::ios::binary) << std::string("bytes\0and more", 14);
  std::string text;
  ASSERT_TRUE(read_regular_file(path.c_str(), &text).ok());
  EXPECT_EQ(text, std::string("bytes\0and more", 14));
  RegularFile file;
  ASSERT_TRUE(file.open(path.c_str()).ok());
  EXPECT_EQ(file.size(), 14u);
  char two[2];
  ASSERT_TRUE(file.read(4, two, 2).ok());
  EXPECT_EQ(std::string(two, 2), std::string("s\0", 2));
  EXPECT_STREQ(file.read(13, two, 2).message(), "it became shorter while it was read");
  std::ofstream(path, std::ios::binary).close();
  ASSERT_TRUE(read_regular_file(path.c_str(), &text).ok());
  EXPECT_EQ(text, "");
  Status s = read_regular_file((all.folder() + "/none").c_str(), &text);
  EXPECT_THAT(s.message(), HasSubstr("/none': No such file or directory"));
}

TEST(RegularFiles, ProgramsAre) {
  for (const auto& [path, refusal] : test::NotFiles(".wick")) {
    auto program = Program::load(path.c_str());
    ASSERT_FALSE(program.ok()) << path;
    EXPECT_EQ(program.status().code(), Code::kIo);
    EXPECT_THAT(program.status().message(), HasSubstr("cannot open " + path + ": "));
    EXPECT_THAT(program.status().message(), HasSubstr(refusal));
    wick_program* handle = nullptr;
    EXPECT_EQ(wick_program_load(path.c_str(), nullptr, &handle), WICK_IO) << path;
    EXPECT_THAT(wick_last_error(), HasSubstr(refusal));
  }
}

TEST(RegularFiles, LibrariesOfOpsAre) {
  for (const auto& [path, refusal] : test::NotFiles(".so")) {
    auto library = OpLibrary::open(path.c_str());
    ASSERT_FALSE(library.ok()) << path;
    EXPECT_EQ(library.status().code(), Code::kIo);
    EXPECT_THAT(library.status().message(), HasSubstr(refusal));
  }
}

}  // namespace
}  // namespace wick
