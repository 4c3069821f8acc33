// Caches of verdicts and pipelines that ship with a model: taken on the driver that they were made
// on, refused elsewhere, and never trusted for more than they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/ctx/disk_cache.h"
#include "runtime/backend/vulkan/ctx/warm_file.h"
#include "runtime/core/sha256.h"
#include "runtime/exec/session.h"
#include "tests/program/program_builder.h"
#include "tests/support/temp_folder.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

// What the file begins with (ctx/warm_file.cc).
constexpr size_t kVerdictBytes = 16, kPipelineBytes = 24, kDriver = 32, kDigest = 64, kHead = 96;

// x [2, 48] -> y: two kernels, a product and a softmax.
Bytes model() {
  ProgramBuilder p;
  std::vector<float> w(48 * 16);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) * 0.1f - 0.3f;
  auto x = p.value("x", DType::kF32, {2, 48}), l = p.value("l", DType::kF32, {2, 16}),
       y = p.value("y", DType::kF32, {2, 16});
  auto c = p.constant<float>("w", {48, 16}, w);
  p.node(OpId::kMatMul, {x, c}, {l}, NoAttrs{}, "product");
  p.node(OpId::kSoftmax, {l}, {y}, AxisAttrs{-1}, "softmax");
  p.entry("main", {x}, {y});
  return p.finish();
}

class VulkanWarm : public ::testing::Test {
 protected:
  void SetUp() override {
    WICK_NEED_DEVICE();
    file_ = model();
    bytes_ = aligned_copy(file_);
    auto loaded = Program::load(Span<const uint8_t>(bytes_.get(), file_.size()));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    program_ = std::move(*loaded);
    path_ = temp_folder() + "model.cache";
    auto backend = open();
    ASSERT_EQ(run(*backend, nullptr).checked, kKernels);
    const Status saved = backend->save_cache(path_.c_str());
    ASSERT_TRUE(saved.ok()) << saved.message();
    good_ = read();
    ASSERT_EQ(good_.size() >= kHead + 16 * kKernels, true);
  }
  static Owned<VulkanBackend> open(const char* folder = "") {
    VulkanOptions options;
    options.cache_folder = folder;
    auto backend = VulkanBackend::create(default_allocator(), options);
    EXPECT_TRUE(backend.ok()) << backend.status().message();
    return std::move(*backend);
  }
  struct Ran {
    size_t checked;
    std::string refused;
    std::vector<float> y;
    size_t on_the_cpu = 0;
  };
  Ran run(VulkanBackend& backend, const char* cache) {
    struct Trace final : TraceHook {
      void on_op(const TraceEvent& e) override { cpu += std::string(e.backend) == "cpu" ? 1 : 0; }
      size_t cpu = 0;
    } trace;
    SessionOptions options;
    options.backend = &backend;
    options.device_cache = cache;
    options.trace = &trace;
    auto session = Session::create(*program_, options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    std::vector<float> x(96, 0.25f);
    Ran ran{backend.checked(), (*session)->refused_cache(), std::vector<float>(32), 0};
    TensorView in(x.data(), DType::kF32, {2, 48}), out(ran.y.data(), DType::kF32, {2, 16});
    const Status s = (*session)->run({&in, 1}, {&out, 1});
    EXPECT_TRUE(s.ok()) << s.message();
    ran.on_the_cpu = trace.cpu;
    return ran;
  }
  Bytes read() const {
    std::ifstream f(path_, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(f), {});
  }
  void write(const Bytes& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  // As someone would who wants to be believed.
  static void sign(Bytes& bytes) {
    Sha256 sha;
    sha.update(Span<const uint8_t>(bytes).subspan(0, kDigest));
    sha.update(Span<const uint8_t>(bytes).subspan(kHead));
    sha.finish(bytes.data() + kDigest);
  }
  // The file is not taken, for this reason; everything is checked as without it.
  void expect_refused(const Bytes& bytes, const char* why) {
    write(bytes);
    auto backend = open();
    const Ran ran = run(*backend, path_.c_str());
    EXPECT_THAT(ran.refused, HasSubstr(why));
    EXPECT_THAT(ran.refused, HasSubstr("model.cache' is not used: "));
    EXPECT_EQ(ran.checked, kKernels) << why;
    EXPECT_EQ(ran.on_the_cpu, 0u);
  }

  static constexpr size_t kKernels = 2;
  std::string path_;
  Bytes good_;

 private:
  Bytes file_;
  AlignedBytes bytes_{nullptr, AlignedFree{0}};
  Owned<Program> program_;
};

TEST_F(VulkanWarm, NothingIsCheckedAgain) {
  auto cold = open(), warm = open();
  const Ran without = run(*cold, nullptr), with = run(*warm, path_.c_str());
  EXPECT_EQ(without.checked, kKernels);
  EXPECT_EQ(with.checked, 0u);
  EXPECT_EQ(with.refused, "");
  EXPECT_EQ(with.y, without.y);
  // A cache that is made from one that was loaded has the same.
  ASSERT_TRUE(warm->save_cache(path_.c_str()).ok());
  auto again = open();
  EXPECT_EQ(run(*again, path_.c_str()).checked, 0u);
}

// What ships with one model says nothing to others: its verdicts do not reach the user's folder.
TEST_F(VulkanWarm, VerdictsThatShipAreNotStored) {
  const std::string folder = temp_folder() + "warm_folder";
  {
    auto backend = open(folder.c_str());
    EXPECT_EQ(run(*backend, path_.c_str()).checked, 0u);
  }
  auto backend = open(folder.c_str());
  EXPECT_EQ(run(*backend, nullptr).checked, kKernels);
}

// A kernel that was wrong where the cache was made stays on the CPU.
TEST_F(VulkanWarm, AWrongKernelStaysOnTheCpu) {
  Bytes wrong = good_;
  for (size_t i = 0; i < kKernels; ++i) wrong[kHead + 16 * i + 8] = 2;
  sign(wrong);
  write(wrong);
  auto backend = open();
  const Ran ran = run(*backend, path_.c_str());
  EXPECT_EQ(ran.checked, 0u);
  EXPECT_EQ(ran.on_the_cpu, kKernels);
  // So does one that was right here.
  auto another = open();
  EXPECT_EQ(run(*another, nullptr).on_the_cpu, 0u);
  EXPECT_EQ(run(*another, path_.c_str()).on_the_cpu, kKernels);
}

TEST_F(VulkanWarm, AnotherDriverIsRefused) {
  Bytes other = good_;
  other[kDriver] ^= 1;
  sign(other);
  expect_refused(other, "it was made for another device, driver or version of Wick");
  auto backend = open();
  EXPECT_EQ(backend->load_cache(path_.c_str()).code(), Code::kUnsupported);
  EXPECT_EQ(backend->load_cache((path_ + "x").c_str()).code(), Code::kNotFound);
  EXPECT_EQ(backend->load_cache(nullptr).code(), Code::kInvalidArgument);
}

TEST_F(VulkanWarm, DamageIsFound) {
  for (size_t at : {size_t{0}, size_t{8}, kVerdictBytes, kPipelineBytes + 7, kDriver + 5, kDigest,
                    kHead, kHead + 8, good_.size() - 1}) {
    Bytes damaged = good_;
    damaged[at] ^= 0x40;
    write(damaged);
    auto backend = open();
    EXPECT_FALSE(backend->load_cache(path_.c_str()).ok()) << at;
  }
  for (size_t size : {size_t{0}, size_t{7}, kHead - 1, kHead, good_.size() - 1}) {
    write(Bytes(good_.begin(), good_.begin() + static_cast<std::ptrdiff_t>(size)));
    auto backend = open();
    EXPECT_EQ(backend->load_cache(path_.c_str()).code(), Code::kInvalidProgram) << size;
  }
  Bytes flipped = good_;
  flipped[kHead + 3] ^= 1;
  expect_refused(flipped, "it is damaged: its digest is another one");
}

// Digests are right, and what they cover is not.
TEST_F(VulkanWarm, HostileFilesAreData) {
  auto with = [&](size_t at, uint64_t number) {
    Bytes bytes = good_;
    std::memcpy(bytes.data() + at, &number, sizeof(number));
    sign(bytes);
    return bytes;
  };
  uint64_t verdicts;
  std::memcpy(&verdicts, good_.data() + kVerdictBytes, sizeof(verdicts));
  for (uint64_t size : {uint64_t{0}, verdicts + 16, uint64_t{1} << 63, UINT64_MAX - 7})
    expect_refused(with(kVerdictBytes, size), "its sizes are not those of the file");
  expect_refused(with(kPipelineBytes, UINT64_MAX - verdicts + 1), "its sizes");
  expect_refused(with(kHead + 8, 3), "it has verdicts that Wick did not write");
  expect_refused(with(kHead, UINT64_MAX), "it has verdicts that Wick did not write");
  const size_t pipelines = kHead + static_cast<size_t>(verdicts);
  ASSERT_GE(good_.size(), pipelines + 32);
  expect_refused(with(pipelines, uint64_t{1} << 32 | 0xffffffff), "have no valid head");
  expect_refused(with(pipelines + 8, 0x1234567812345678), "its pipelines are another driver's");
  expect_refused(with(8, 2), "it has version 2, this build reads 1");
}

// No file is written that would not be read; needs no device.
TEST(VulkanWarmFile, WhatIsTooLargeToReadIsNotWritten) {
  const std::string path = temp_folder() + "large.cache";
  const size_t most = vulkan::kWarmBytes;
  // Pages that nobody reads take no memory.
  void* zeros = mmap(nullptr, most, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  const Span<const uint8_t> all(static_cast<const uint8_t*>(zeros), most);
  const char driver[vulkan::kDriverKeyBytes] = "a driver";
  const Status refused =
      vulkan::write_warm(path.c_str(), driver, {all.subspan(0, 17), all.subspan(kHead + 16)});
  EXPECT_EQ(refused.code(), Code::kBudgetExceeded);
  EXPECT_THAT(refused.message(), HasSubstr("a cache of 268435457 bytes is not written"));
  vulkan::DiskCache disk;
  disk.open(temp_folder().c_str(), {});
  ASSERT_TRUE(disk.enabled());
  EXPECT_EQ(disk.write("pipelines", all).code(), Code::kBudgetExceeded);
  munmap(zeros, most);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(VulkanWarm, WithoutChecksThereAreNoVerdicts) {
  VulkanOptions options;
  options.cache_folder = "";
  options.check_kernels = false;
  auto backend = VulkanBackend::create(default_allocator(), options);
  ASSERT_TRUE(backend.ok());
  EXPECT_TRUE((*backend)->load_cache(path_.c_str()).ok()) << "its pipelines are of use";
  EXPECT_EQ((*backend)->save_cache(path_.c_str()).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace wick::test
