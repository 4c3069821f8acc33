// The names of devices, and the errors for others. Vulkan: tests/vulkan/tensors_test.cc.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

TEST(Device, TheCpuByItsNames) {
  EXPECT_EQ(Device("cpu").to_string(), "cpu");
  EXPECT_EQ(Device("cpu:0").to_string(), "cpu:0");
  EXPECT_EQ(Device("cpu", 0), Device("cpu:0"));
  EXPECT_FALSE(Device("cpu") == Device("cpu:0"));  // as in PyTorch
  EXPECT_EQ(Device("cpu").index(), -1);
  EXPECT_FALSE(Device("cpu").has_index());
  EXPECT_EQ(Device("cpu:0").index(), 0);
  EXPECT_EQ(Device("cpu").type(), DeviceType::kCpu);
}

// A name opens nothing: tensors find out whether the device is there.
TEST(Device, VulkanByItsNames) {
  EXPECT_EQ(Device("vulkan").to_string(), "vulkan");
  EXPECT_EQ(Device("vulkan:12").to_string(), "vulkan:12");
  EXPECT_EQ(Device("vulkan", 1), Device("vulkan:1"));
  EXPECT_EQ(Device("vulkan:1").type(), DeviceType::kVulkan);
  EXPECT_TRUE(Device("vulkan:1").is_vulkan() && !Device("vulkan").is_cpu());
  for (const char* name : {"vulkan:", "vulkan:x", "vulkan:01", "vulkan:-1", "vulkan:99999999999"}) {
    EXPECT_NE(test::error_of([&] {
                static_cast<void>(Device(name));
              }).find("write vulkan, or vulkan:0 and on"),
              std::string::npos)
        << name;
  }
}

TEST(Device, OthersAreRefusedWithWhatThereIs) {
#line 100 "train.cpp"
  EXPECT_EQ(test::error_of([] { Device("tpu"); }),
            "[Device] 'tpu' is no device: there are cpu and vulkan (train.cpp:100)");
#line 42 "device_test.cc"
  EXPECT_NE(test::error_of([] { ones({2}).to("cuda:0"); }).find("[Device] 'cuda:0' is no device"),
            std::string::npos);
  for (const char* name : {"cpu:1", "cpu:", "cpu:x", "cpu:00"}) {
    EXPECT_NE(test::error_of([&] {
                static_cast<void>(Device(name));
              }).find("there is one cpu: write cpu or cpu:0"),
              std::string::npos)
        << name;
  }
  EXPECT_NE(test::error_of([] { Device("cpu", 1); }).find("'cpu:1'"), std::string::npos);
  EXPECT_NE(test::error_of([] { Device(nullptr); }).find("no device"), std::string::npos);
}

TEST(Device, OfATensor) {
  Tensor x = ones({2, 3}).requires_grad_();
  EXPECT_EQ(x.device(), Device("cpu"));
  EXPECT_EQ(x.t().device().to_string(), "cpu");
  EXPECT_TRUE(x.is_cpu() && !x.is_vulkan());
  EXPECT_FALSE(x.is_cuda() || x.is_meta() || x.is_quantized());
  EXPECT_TRUE(x.to("cpu").is_same(x));
  EXPECT_TRUE(x.to(Device("cpu", 0)).is_same(x));
  EXPECT_NE(describe(x).find("cpu"), std::string::npos);
}

// An undefined tensor has none of what a tensor has, and says so with the line that asked.
TEST(Device, AnUndefinedTensorIsAnErrorAtTheLine) {
  Tensor none;
#line 200 "train.cpp"
  EXPECT_EQ(test::error_of([&] { none.device(); }),
            "[device] the tensor is undefined: it was never made (train.cpp:200)");
  EXPECT_EQ(test::error_of([&] { static_cast<void>(none.dtype()); }),
            "[dtype] the tensor is undefined: it was never made (train.cpp:202)");
  EXPECT_EQ(test::error_of([&] { none.unsqueeze(0); }),
            "[unsqueeze] the tensor is undefined: it was never made (train.cpp:204)");
  EXPECT_EQ(test::error_of([&] { exp(none); }).substr(0, 6), "[exp] ");
  // A helper asked for the dtype: its name would tell nobody anything.
  EXPECT_EQ(test::error_of([&] { relu(none); }),
            "[tensor] an input is undefined: it was never made (train.cpp:208)");
#line 81 "device_test.cc"
}

}  // namespace
}  // namespace wick
