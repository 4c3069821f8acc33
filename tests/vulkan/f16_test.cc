// Arithmetic in float16: the bits of float32 rounded once, for ops that allow this, on devices that
// promise IEEE arithmetic. lavapipe has it but promises less: its promises are forged here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <numeric>
#include <random>

#include "runtime/backend/vulkan/trust/selftest_cases.h"
#include "tests/ops/sets.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/run_call.h"

namespace wick::test {
namespace {

using vulkan::ShaderId;

// The driver's answers are forged: it promises everything but one thing.
enum Lacks { kNothing, kRounding, kSubnormals, kSpecials, kArithmetic, kExtension };
Lacks lacking = kNothing;
vulkan::Api real;

template <class T>
T* in_chain(void* next, VkStructureType type) {
  for (auto* s = static_cast<VkBaseOutStructure*>(next); s != nullptr; s = s->pNext)
    if (s->sType == type) return reinterpret_cast<T*>(s);
  return nullptr;
}
void properties(VkPhysicalDevice device, VkPhysicalDeviceProperties2* out) {
  real.GetPhysicalDeviceProperties2(device, out);
  auto* controls = in_chain<VkPhysicalDeviceFloatControlsProperties>(
      out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
  if (controls == nullptr) return;
  controls->shaderRoundingModeRTEFloat16 = lacking != kRounding;
  controls->shaderDenormPreserveFloat16 = lacking != kSubnormals;
  controls->shaderSignedZeroInfNanPreserveFloat16 = lacking != kSpecials;
}
void features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* out) {
  real.GetPhysicalDeviceFeatures2(device, out);
  auto* small = in_chain<VkPhysicalDeviceShaderFloat16Int8Features>(
      out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  if (small != nullptr && lacking == kArithmetic) small->shaderFloat16 = VK_FALSE;
}
VkResult extensions(VkPhysicalDevice device, const char* layer, uint32_t* count,
                    VkExtensionProperties* out) {
  const VkResult r = real.EnumerateDeviceExtensionProperties(device, layer, count, out);
  for (uint32_t i = 0; out != nullptr && lacking == kExtension && i < *count; ++i)
    if (std::strcmp(out[i].extensionName, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME) == 0)
      out[i].extensionName[0] = '\0';
  return r;
}
void forge(vulkan::Api& api) {
  if (api.GetPhysicalDeviceProperties2 == nullptr || api.GetPhysicalDeviceProperties2 == properties)
    return;
  real = api;
  api.GetPhysicalDeviceProperties2 = properties;
  api.GetPhysicalDeviceFeatures2 = features;
  api.EnumerateDeviceExtensionProperties = extensions;
}

TEST(VulkanF16, IsIeeeWhereADevicePromisesAllOfIt) {
  WICK_NEED_DEVICE();
  if (!shared_context(false)->device().info().f16_arithmetic)
    GTEST_SKIP() << "the device does not compute in 16 bits";
  for (Lacks what : {kNothing, kRounding, kSubnormals, kSpecials, kArithmetic, kExtension}) {
    lacking = what;
    vulkan::Instance instance;
    ASSERT_TRUE(instance.open(nullptr, forge).ok());
    Array<vulkan::DeviceInfo> devices(default_allocator());
    ASSERT_TRUE(instance.devices(devices).ok());
    ASSERT_FALSE(devices.empty());
    EXPECT_EQ(devices[0].f16_ieee, what == kNothing) << what;
    EXPECT_EQ(vulkan::capabilities_of(devices[0]).f16_ieee, what == kNothing);
    vulkan::forget_options(devices[0]);
    EXPECT_FALSE(devices[0].f16_ieee);
  }
  lacking = kNothing;
}

ShaderId shader_of(OpId op, const AnyAttrs& attrs, DType dtype, bool ieee, size_t operands) {
  TensorView views[3];
  for (TensorView& v : views) v = TensorView(nullptr, dtype, Shape{8});
  OpCall call;
  call.op = op;
  call.attrs = attrs.get();
  call.in = {views, operands};
  call.out = {views + 2, 1};
  vulkan::Capabilities can;
  can.f16_ieee = ieee;
  vulkan::Lowered lowered(default_allocator(), can);
  EXPECT_TRUE(vulkan::lower(call, lowered).ok()) << find_op(op)->name;
  return lowered.dispatches[0].shader;
}

struct Case {
  OpId op;
  AnyAttrs attrs;
};
std::vector<Case> unary_cases() {
  std::vector<Case> cases;
  for (OpId op :
       {OpId::kRelu, OpId::kNeg, OpId::kAbs, OpId::kFloor, OpId::kCeil, OpId::kRound, OpId::kSign})
    cases.push_back({op, AnyAttrs::of(NoAttrs{})});
  for (double alpha : {0.125, -3.0, 0x1p-24, 0.0, 1023 * 0x1p-24, 65504.0})
    cases.push_back({OpId::kLeakyRelu, AnyAttrs::of(LeakyReluAttrs{alpha})});
  const double bounds[][2] = {{0, 6},         {-1, 1},          {0x1p-24, 0x1p-14}, {-0.0, 0.0},
                              {-65504, 1e30}, {-1e9, 65504},    {1e5, 1e6},         {2, -2},
                              {-1e9, -1e8},   {-3.4e38, 3.4e38}};
  for (const auto& b : bounds) cases.push_back({OpId::kClip, AnyAttrs::of(ClipAttrs{b[0], b[1]})});
  return cases;
}
constexpr OpId kBinary[] = {OpId::kAdd, OpId::kSub, OpId::kMul, OpId::kMax, OpId::kMin};

TEST(VulkanF16, OnlyOpsAndParametersOfEqualBits) {
  for (const Case& c : unary_cases()) {
    EXPECT_EQ(shader_of(c.op, c.attrs, DType::kF16, true, 1), ShaderId::k_unary_in_f16);
    EXPECT_EQ(shader_of(c.op, c.attrs, DType::kF16, false, 1), ShaderId::k_unary_16);
    EXPECT_EQ(shader_of(c.op, c.attrs, DType::kBF16, true, 1), ShaderId::k_unary_16);
    EXPECT_EQ(shader_of(c.op, c.attrs, DType::kF32, true, 1), ShaderId::k_unary_f32);
  }
  const AnyAttrs none = AnyAttrs::of(NoAttrs{});
  for (OpId op : kBinary) {
    EXPECT_EQ(shader_of(op, none, DType::kF16, true, 2), ShaderId::k_binary_in_f16);
    EXPECT_EQ(shader_of(op, none, DType::kF16, false, 2), ShaderId::k_binary_16);
    EXPECT_EQ(shader_of(op, none, DType::kBF16, true, 2), ShaderId::k_binary_16);
    EXPECT_EQ(shader_of(op, none, DType::kF32, true, 2), ShaderId::k_binary_f32);
  }
  for (OpId op : {OpId::kDiv, OpId::kPow})
    EXPECT_EQ(shader_of(op, none, DType::kF16, true, 2), ShaderId::k_binary_16);
  const Case others[] = {{OpId::kSqrt, none},
                         {OpId::kExp, none},
                         {OpId::kHardSwish, none},
                         {OpId::kLeakyRelu, AnyAttrs::of(LeakyReluAttrs{0.01})},
                         {OpId::kClip, AnyAttrs::of(ClipAttrs{0, 0.1})},
                         {OpId::kClip, AnyAttrs::of(ClipAttrs{-1e-10, 1})},
                         {OpId::kClip, AnyAttrs::of(ClipAttrs{NAN, 1})}};
  for (const Case& c : others)
    EXPECT_EQ(shader_of(c.op, c.attrs, DType::kF16, true, 1), ShaderId::k_unary_16);
}

// `wick selftest` of such a device runs both, with operands that are broadcast too.
TEST(VulkanF16, TheSelfTestHasThem) {
  struct Calls final : vulkan::SelfTestCalls {
    Status call(const KernelQuery& query) override {
      if (query.out.size() != 1) return {};
      OpCall call;
      TensorView out[] = {query.out[0]};
      call.op = query.op;
      call.attrs = query.attrs;
      call.in = query.in;
      call.out = {out, 1};
      vulkan::Capabilities can;
      can.f16_ieee = true;
      vulkan::Lowered lowered(default_allocator(), can);
      if (!vulkan::lower(call, lowered).ok()) return {};
      for (const vulkan::Dispatch& d : lowered.dispatches) {
        if (d.shader == ShaderId::k_unary_in_f16) ++unary[d.spec[0]];
        if (d.shader == ShaderId::k_binary_in_f16) ++(d.spec[1] > 1 ? broadcast : flat)[d.spec[0]];
      }
      return {};
    }
    std::map<uint32_t, int> unary, flat, broadcast;  // by function
  } calls;
  const Status s = vulkan::self_test_cases(calls, default_allocator());
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(calls.unary.size(), 8u) << "all but LeakyRelu, whose default slope is no float16";
  EXPECT_EQ(calls.flat.size(), std::size(kBinary));
  EXPECT_EQ(calls.broadcast.size(), std::size(kBinary));
}

// Runs on a device whose forged promises are believed; the driver keeps more than it promises.
class VulkanInF16 : public testing::Test {
 protected:
  void SetUp() override {
    WICK_NEED_DEVICE();
    const vulkan::DeviceInfo& info = shared_context(false)->device().info();
    if (!info.f16_arithmetic) GTEST_SKIP() << "the device does not compute in 16 bits";
    const bool forged = !info.f16_ieee;
    const char* layers = std::getenv("VK_INSTANCE_LAYERS");
    if (forged && layers != nullptr && std::strstr(layers, "validation") != nullptr)
      GTEST_SKIP() << "a forged promise is what the validation layer complains of";
    if (forged && info.type != VK_PHYSICAL_DEVICE_TYPE_CPU)
      GTEST_SKIP() << "the device does not compute in 16 bits as IEEE says";
    vulkan::ContextOptions options;
    options.intercept = forge;
    options.force_staging = true;
    options.cache_folder = "";
    auto made = vulkan::Context::create(default_allocator(), options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    context_ = made.value();
    ASSERT_TRUE(context_->device().info().f16_ieee);
  }
  void TearDown() override { vulkan::Context::destroy(context_); }

  void expect_as_cpu(OpId op, const AnyAttrs& attrs, const std::vector<Value>& in) {
    std::vector<Value> want, got;
    Status s = run_op(op, attrs.get(), in, 1, reference_sets(), nullptr, &want);
    ASSERT_TRUE(s.ok()) << s.message();
    got.emplace_back(DType::kF16, want[0].view().shape);
    Sample call;
    call.attrs = attrs;
    s = run_call(*context_, op, call, in, got);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(bits_differ(got[0].view(), want[0].view()), "") << find_op(op)->name;
  }

  vulkan::Context* context_ = nullptr;
};

Value halves(const std::vector<uint16_t>& bits, Shape shape = {}) {
  if (shape.rank() == 0) shape = {static_cast<int64_t>(bits.size())};
  Value v(DType::kF16, shape);
  std::memcpy(v.view().data, bits.data(), bits.size() * 2);
  return v;
}
std::vector<uint16_t> all_halves() {
  std::vector<uint16_t> bits(65536);
  std::iota(bits.begin(), bits.end(), uint16_t{0});
  return bits;
}
// Returns values of every sign and exponent, with mantissas at the ends, in the middle and
// anywhere.
std::vector<uint16_t> some_halves(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> bits;
  for (uint32_t head = 0; head < 64; ++head) {
    for (uint32_t m : {0u, 1u, 2u, 511u, 512u, 513u, 1022u, 1023u})
      bits.push_back(static_cast<uint16_t>(head << 10 | m));
    for (int i = 0; i < 8; ++i)
      bits.push_back(static_cast<uint16_t>(head << 10 | (random() & 1023)));
  }
  return bits;
}

TEST_F(VulkanInF16, EveryHalfThroughEveryFunction) {
  const Value x = halves(all_halves());
  for (const Case& c : unary_cases()) expect_as_cpu(c.op, c.attrs, {x});
}

// A million pairs of every two exponents, lined up element by element.
TEST_F(VulkanInF16, PairsOfEveryTwoExponents) {
  const std::vector<uint16_t> left = some_halves(1), right = some_halves(2);
  std::vector<uint16_t> a, b;
  for (uint16_t p : left) {
    a.insert(a.end(), right.size(), p);
    b.insert(b.end(), right.begin(), right.end());
  }
  ASSERT_EQ(a.size(), size_t{1} << 20);
  const AnyAttrs none = AnyAttrs::of(NoAttrs{});
  for (OpId op : kBinary) expect_as_cpu(op, none, {halves(a), halves(b)});
}

// Each half with its square's and sum's halfway cases: neighbours, and what is 2^11 times smaller.
TEST_F(VulkanInF16, TiesOfSums) {
  std::vector<uint16_t> a, b;
  for (uint32_t head = 0; head < 64; ++head) {
    for (uint32_t m = 0; m < 1024; m += 3) {
      for (uint32_t below : {10u, 11u, 12u, 13u}) {
        if ((head & 31) < below) continue;
        a.push_back(static_cast<uint16_t>(head << 10 | m));
        b.push_back(static_cast<uint16_t>((head - below) << 10 | (m % 5 == 0 ? m : 0)));
      }
    }
  }
  const AnyAttrs none = AnyAttrs::of(NoAttrs{});
  for (OpId op : {OpId::kAdd, OpId::kSub}) expect_as_cpu(op, none, {halves(a), halves(b)});
}

TEST_F(VulkanInF16, OddLengthsAndBroadcasts) {
  const std::vector<uint16_t> from = some_halves(3);
  size_t at = 0;
  auto some = [&](Shape shape) {
    std::vector<uint16_t> bits(
        static_cast<size_t>(TensorView(nullptr, DType::kF16, shape).numel()));
    for (uint16_t& v : bits) v = from[(at += 37) % from.size()];
    return halves(bits, shape);
  };
  const Shape pairs[][2] = {{{1, 1}, {1, 1}},  {{257}, {257}},         {{257}, {1}},
                            {{1}, {63}},       {{5, 1, 7}, {3, 1}},    {{6, 35}, {35}},
                            {{5, 7}, {5, 1}},  {{2, 3, 8, 5}, {8, 1}}, {{3, 1, 9}, {1, 5, 9}},
                            {{40000}, {40000}}};
  const AnyAttrs none = AnyAttrs::of(NoAttrs{});
  for (const auto& shapes : pairs) {
    const Value a = some(shapes[0]), b = some(shapes[1]);
    for (OpId op : {OpId::kSub, OpId::kMax}) expect_as_cpu(op, none, {a, b});
  }
  for (int64_t n : {1, 2, 3, 255, 257}) expect_as_cpu(OpId::kRelu, none, {some({n})});
}

}  // namespace
}  // namespace wick::test
