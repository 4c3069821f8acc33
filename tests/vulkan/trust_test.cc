// A driver that computes wrongly, always or now and then, is detected before a model runs on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/backend/vulkan/vk/api.h"
#include "tests/support/temp_folder.h"
#include "tests/vulkan/models.h"

namespace wick::test {
namespace {

using ::testing::HasSubstr;

// -- drivers that are wrong
vulkan::Api real;
uint32_t wrong_opcode = 0, put_opcode = 0;  // the compiler replaces this instruction
int64_t lose_every = 0, submissions = 0;    // which submissions never run
int64_t dispatches = 0;

VkResult compile_wrongly(VkDevice device, const VkShaderModuleCreateInfo* info,
                         const VkAllocationCallbacks* allocator, VkShaderModule* out) {
  std::vector<uint32_t> words(info->pCode, info->pCode + info->codeSize / 4);
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    if ((words[at] & 0xffff) == wrong_opcode) words[at] = (words[at] & 0xffff0000) | put_opcode;
  }
  VkShaderModuleCreateInfo changed = *info;
  changed.pCode = words.data();
  return real.CreateShaderModule(device, &changed, allocator, out);
}

VkResult forget_to_run(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  if (lose_every == 0 || ++submissions % lose_every != 0)
    return real.QueueSubmit(queue, count, submits, fence);
  VkSubmitInfo nothing = *submits;
  nothing.commandBufferCount = 0;
  return real.QueueSubmit(queue, 1, &nothing, fence);
}

void count_dispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z) {
  ++dispatches;
  real.CmdDispatch(buffer, x, y, z);
}

void wrong_driver(vulkan::Api& api) {
  if (api.CreateShaderModule == nullptr) return;
  real = api;
  api.CreateShaderModule = compile_wrongly;
  api.QueueSubmit = forget_to_run;
  api.CmdDispatch = count_dispatch;
}

class VulkanTrust : public ::testing::Test {
 protected:
  void SetUp() override {
    wrong_opcode = put_opcode = 0;
    lose_every = submissions = 0;
    folder_ = wick::test::temp_folder() + "vulkan_trust_" + std::to_string(getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  struct Ran {
    std::vector<float> y;
    std::vector<std::string> complaints;
    size_t checked = 0;
    int64_t dispatches = 0;  // recorded for the session and for checks
  };
  Ran run(const TestModel& m) {
    Ran ran;
    VulkanOptions options;
    options.intercept = wrong_driver;
    // Steps that are computed rightly stay on the device, next to the CPU's.
    options.offload = VulkanOptions::Offload::kAllItCan;
    options.cache_folder = folder_.c_str();
    dispatches = 0;
    auto backend = open_device(options);
    auto session = open_session(m, *backend);
    for (int i = 0; i < 8; ++i) {
      Status s = run_into(*session, m, ran.y);
      EXPECT_TRUE(s.ok()) << s.message();
      for (size_t k = 0; k < ran.y.size(); ++k) EXPECT_NEAR(ran.y[k], m.want[k], 1e-4) << k;
    }
    EXPECT_STREQ(session->left_backend(), "");
    for (size_t i = 0; i < backend->complaint_count(); ++i)
      ran.complaints.emplace_back(backend->complaint(i));
    ran.checked = backend->checked();
    ran.dispatches = dispatches;
    return ran;
  }
  std::string file(const char* kind) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() == std::string(".") + kind) return entry.path();
    }
    return "";
  }
  std::string folder_;
};

constexpr uint32_t kFNegate = 127, kFAdd = 129, kFMul = 133;

TEST_F(VulkanTrust, AGoodDriverIsCheckedOnce) {
  WICK_NEED_MODEL(m, lenet_model());
  Ran first = run(*m);
  EXPECT_EQ(first.complaints.size(), 0u);
  EXPECT_GT(first.checked, 3u);
  EXPECT_GT(first.dispatches, 0);
  // Who could write there could give the device another shader.
  EXPECT_EQ(std::filesystem::status(folder_).permissions(), std::filesystem::perms::owner_all);
  Ran second = run(*m);  // as another program would
  EXPECT_EQ(second.checked, 0u);
  EXPECT_LT(second.dispatches, first.dispatches);
  EXPECT_EQ(second.y, first.y);
}

// A link in the cache folder is replaced, not the file that it leads to.
TEST_F(VulkanTrust, TheCacheIsNotWrittenThroughALink) {
  WICK_NEED_MODEL(m, lenet_model());
  run(*m);
  const std::string kept = file("trust"), mine = folder_ + "/mine.txt";
  ASSERT_NE(kept, "");
  std::ofstream(mine) << "mine";
  std::filesystem::remove(kept);
  std::filesystem::create_symlink(mine, kept);
  EXPECT_GT(run(*m).checked, 0u);
  EXPECT_EQ(std::filesystem::file_size(mine), 4u);
  EXPECT_FALSE(std::filesystem::is_symlink(kept));
}

// The driver adds where a product is asked for. What is wrong goes to the CPU and stays there.
TEST_F(VulkanTrust, AWrongKernelGoesToTheCpu) {
  WICK_NEED_MODEL(m, gpt_model());
  Ran good = run(*m);
  std::filesystem::remove_all(folder_);
  wrong_opcode = kFMul, put_opcode = kFAdd;
  Ran wrong = run(*m);
  ASSERT_GT(wrong.complaints.size(), 0u);
  EXPECT_LT(wrong.complaints.size(), wrong.checked) << "kernels without a product are sound";
  EXPECT_THAT(wrong.complaints[0], HasSubstr(", the CPU's "));
  // The driver is mended, but this is its name: what was seen is remembered and not said again.
  wrong_opcode = put_opcode = 0;
  Ran later = run(*m);
  EXPECT_EQ(later.checked, 0u);
  EXPECT_EQ(later.complaints.size(), 0u);
  EXPECT_LT(later.dispatches, good.dispatches);
}

// One run in four leaves its output as it was.
TEST_F(VulkanTrust, OneRunInFourIsFoundOut) {
  WICK_NEED_MODEL(m, lenet_model());
  lose_every = 4;
  Ran ran = run(*m);
  EXPECT_EQ(ran.complaints.size(), ran.checked) << "each kernel is run often enough";
  EXPECT_GT(ran.checked, 0u);
}

// Damaged files count as missing ones.
TEST_F(VulkanTrust, ADamagedFileIsFoundOutAnew) {
  WICK_NEED_MODEL(m, lenet_model());
  const size_t checked = run(*m).checked;
  for (const char* kind : {"trust", "pipelines"}) {
    const std::string path = file(kind);
    ASSERT_NE(path, "") << kind;
    for (int damage = 0; damage < 3; ++damage) {
      const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
      if (damage == 0) {  // a bit, of which call the last verdict is about
        std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
        f.seekg(size - 16);
        const int byte = f.get();
        f.seekp(size - 16);
        f.put(static_cast<char>(byte ^ 1));
      } else if (damage == 1) {  // the end
        std::filesystem::resize_file(path, static_cast<uint64_t>(size) - 1);
      } else {
        std::ofstream f(path, std::ios::binary | std::ios::trunc);
      }
      EXPECT_EQ(run(*m).checked, std::string(kind) == "trust" ? checked : 0);
    }
  }
}

// Nowhere to keep anything: it works, and is found out each time.
TEST_F(VulkanTrust, WithoutAFolderItIsFoundOutEachTime) {
  WICK_NEED_MODEL(m, lenet_model());
  folder_ = "/proc/no such folder";
  const size_t checked = run(*m).checked;
  EXPECT_GT(checked, 0u);
  EXPECT_EQ(run(*m).checked, checked);
}

}  // namespace
}  // namespace wick::test
