// Tensors whose bytes stay in their file: they are read when first used, copies share them, and a
// file that has changed is an error.
#include "graph/ir/file_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "wick/error.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

class InFile : public testing::Test {
 protected:
  static constexpr int64_t kCount = 50000;
  static constexpr uint64_t kOffset = 13;  // as little aligned as in a model

  InFile() : path_(wick::test::temp_folder() + "wick_in_file." + std::to_string(getpid())) {
    write(path_, 0);
  }
  ~InFile() override { std::filesystem::remove(path_); }

  static void write(const std::string& path, float first) {
    std::ofstream out(path, std::ios::binary);
    out << std::string(kOffset, 'x');
    for (int64_t i = 0; i < kCount; ++i) {
      const float v = first + static_cast<float>(i);
      out.write(reinterpret_cast<const char*>(&v), sizeof(v));
    }
  }
  HostTensor tensor() const {
    return HostTensor::in_file(DType::kF32, Shape{kCount}, std::make_shared<FileBytes>(path_),
                               kOffset);
  }

  std::string path_;
};

TEST_F(InFile, IsReadWhenAskedFor) {
  HostTensor t = tensor();
  const HostTensor copy = t, other = t.reshaped(Shape{kCount / 2, 2});
  const void* address = t.address();
  ASSERT_NE(t.unread(), nullptr);
  EXPECT_EQ(t.nbytes(), kCount * sizeof(float));
  std::vector<float> apart(kCount);
  ASSERT_TRUE(t.unread()->read(apart.data()).ok());
  EXPECT_EQ(apart[kCount - 1], static_cast<float>(kCount - 1));
  EXPECT_NE(copy.unread(), nullptr);  // reading elsewhere fills nothing
  EXPECT_EQ(other.as<float>()[7], 7.0f);
  EXPECT_EQ(t.unread(), nullptr);
  EXPECT_EQ(copy.unread(), nullptr);
  EXPECT_EQ(t.data(), address);
  EXPECT_EQ(copy.view().data, address);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 64, 0u);
  EXPECT_EQ(memcmp(t.data(), apart.data(), t.nbytes()), 0);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(t.as<char>()[t.nbytes() + i], 0);  // room for vectors
}

TEST_F(InFile, WritesReachNeitherTheFileNorOthers) {
  auto file = std::make_shared<FileBytes>(path_);
  HostTensor a = HostTensor::in_file(DType::kF32, Shape{kCount}, file, kOffset);
  const HostTensor b = HostTensor::in_file(DType::kF32, Shape{kCount}, file, kOffset);
  a.as<float>()[3] = -1;
  EXPECT_EQ(b.as<float>()[3], 3.0f);
  EXPECT_EQ(tensor().as<float>()[3], 3.0f);
}

TEST_F(InFile, AnotherFileUnderItsNameIsNoMatter) {
  const HostTensor t = tensor();
  write(path_ + ".new", 1000);
  std::filesystem::rename(path_ + ".new", path_);
  EXPECT_EQ(t.as<float>()[3], 3.0f);
  EXPECT_EQ(tensor().as<float>()[3], 1003.0f);
  std::filesystem::remove(path_);
  EXPECT_EQ(t.as<float>()[4], 4.0f);
}

TEST_F(InFile, AFileThatWasCutOrWrittenToIsAnError) {
  const HostTensor cut = tensor();
  std::filesystem::resize_file(path_, 5000);
  for (int i = 0; i < 2; ++i) {  // and stays one
    EXPECT_THAT(error_of([&] { (void)cut.data(); }), HasSubstr("was cut"));
    EXPECT_NE(cut.unread(), nullptr);
  }
  write(path_, 0);
  EXPECT_THAT(error_of([&] { (void)cut.data(); }), HasSubstr("changed"));
  const HostTensor written = tensor();
  {
    std::fstream out(path_, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(kOffset + 40);
    out << "wxyz";
  }
  const auto time = std::filesystem::last_write_time(path_);
  std::filesystem::last_write_time(path_, time + std::chrono::seconds(1));
  Status s = written.unread()->fill();
  EXPECT_EQ(s.code(), Code::kIo);
  EXPECT_THAT(s.message(), HasSubstr("changed"));
}

TEST_F(InFile, ManyThreadsFillItOnce) {
  for (int round = 0; round < 20; ++round) {
    const HostTensor t = tensor();
    std::vector<std::thread> threads;
    std::vector<double> sums(4);
    for (double& sum : sums) {
      threads.emplace_back([&t, &sum] {
        for (int64_t i = 0; i < kCount; ++i) sum += t.as<float>()[i];
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (double sum : sums) EXPECT_EQ(sum, kCount * (kCount - 1) / 2.0);
  }
}

TEST_F(InFile, OnlyTensorsAndPlainFilesDo) {
  EXPECT_THAT(error_of([&] {
                HostTensor::in_file(DType::kString, Shape{2}, std::make_shared<FileBytes>(path_),
                                    0);
              }),
              HasSubstr("string"));
  EXPECT_THAT(error_of([] { FileBytes("/dev/null"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of([] { FileBytes(wick::test::temp_folder() + "wick_no_such"); }),
              HasSubstr("cannot open"));
}

}  // namespace
}  // namespace wick
