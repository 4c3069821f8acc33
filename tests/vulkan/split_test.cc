// Tensors larger than a shader of the device can address, and buffers larger than it allocates at
// once.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/vk/api.h"
#include "runtime/core/half.h"
#include "runtime/exec/session.h"
#include "tests/program/program_builder.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

class Steps final : public TraceHook {
 public:
  void on_op(const TraceEvent& event) override {
    if (std::string(event.backend) == "vulkan") {
      ++device;
    } else {
      cpu += std::string(cpu.empty() ? "" : " ") + event.node;
    }
  }
  int device = 0;
  std::string cpu;
};

std::vector<float> numbers(size_t n, float scale) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = scale * (static_cast<float>((i * 37 + 11) % 64) / 32 - 1);
  return v;
}

// Runs `file` on x; `cpu` gets the nodes that the device left.
std::vector<float> run(const std::vector<uint8_t>& file, TensorView x, const VulkanOptions& vulkan,
                       std::string* cpu) {
  std::vector<float> y;
  auto bytes = aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  EXPECT_TRUE(program.ok()) << program.status().message();
  auto backend = VulkanBackend::create(default_allocator(), vulkan);
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  Steps steps;
  SessionOptions options;
  options.backend = backend->get();
  options.trace = &steps;
  auto session = Session::create(**program, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  if (!session.ok()) return y;
  TensorView out;
  Status s = (*session)->run({&x, 1}, {&out, 1});
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_STREQ((*session)->left_backend(), "");
  EXPECT_EQ((*backend)->complaint_count(), 0u);
  if (s.ok()) y.assign(out.as<float>(), out.as<float>() + out.numel());
  *cpu = steps.cpu;
  return y;
}

// The same bits, whole and in parts, with every kernel checked.
void expect_same(const std::vector<uint8_t>& file, const Shape& shape, uint64_t range,
                 const char* left_to_the_cpu = "", void (*intercept)(vulkan::Api&) = nullptr) {
  std::vector<float> data = numbers(static_cast<size_t>(numel(shape)), 1);
  TensorView x(data.data(), DType::kF32, shape);
  VulkanOptions vulkan;
  vulkan.intercept = intercept;
  vulkan.cache_folder = "";
  vulkan.offload = VulkanOptions::Offload::kAllItCan;
  std::string cpu;
  const std::vector<float> want = run(file, x, vulkan, &cpu);
  EXPECT_EQ(cpu, "");
  vulkan.max_range = range;
  vulkan.max_allocation = 1 << 16;
  for (bool staging : {false, true}) {
    vulkan.force_staging = staging;
    const std::vector<float> got = run(file, x, vulkan, &cpu);
    EXPECT_EQ(cpu, left_to_the_cpu);
    ASSERT_EQ(got.size(), want.size());
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0);
  }
}

// Images and output channels; of the second convolution groups.
TEST(VulkanSplit, ConvolutionsByImagesChannelsAndGroups) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {3, 2, 9, 7});
  auto w = p.constant<float>("w", {12, 2, 3, 3}, numbers(216, 0.5f));
  auto b = p.constant<float>("b", {12}, numbers(12, 0.1f));
  auto h = p.value("h", DType::kF32, {3, 12, 9, 7});
  auto v = p.constant<float>("v", {24, 3, 3, 3}, numbers(648, 0.5f));
  auto g = p.value("g", DType::kF32, {3, 24, 9, 7});
  auto y = p.value("y", DType::kF32, {3, 24, 9, 7});
  ConvAttrs same;
  same.pads = {1, 1, 1, 1};
  p.node(OpId::kConv, {x, w, b}, {h}, same, "first");
  ConvAttrs groups = same;
  groups.group = 4;
  p.node(OpId::kConv, {h, v}, {g}, groups, "second");
  p.node(OpId::kRelu, {g}, {y}, NoAttrs{}, "relu");
  p.entry("main", {x}, {y});
  expect_same(p.finish(), {3, 2, 9, 7}, 2304);
}

// Rows and, where the weight is what is large, columns; batches that are broadcast.
TEST(VulkanSplit, ProductsByRowsColumnsAndBatches) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2, 3, 5, 33});
  auto w = p.constant<float>("w", {201, 33}, numbers(201 * 33, 0.2f));
  auto b = p.constant<float>("b", {201}, numbers(201, 0.1f));
  auto h = p.value("h", DType::kF32, {2, 3, 5, 201});
  auto m = p.constant<float>("m", {3, 201, 4}, numbers(3 * 201 * 4, 0.2f));
  auto y = p.value("y", DType::kF32, {2, 3, 5, 4});
  p.node(OpId::kLinear, {x, w, b}, {h}, NoAttrs{}, "linear");
  p.node(OpId::kMatMul, {h, m}, {y}, NoAttrs{}, "product");
  p.entry("main", {x}, {y});
  expect_same(p.finish(), {2, 3, 5, 33}, 3840);
}

// Copies in both directions, and what walks rows.
TEST(VulkanSplit, LayoutAndRows) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {7, 41, 13});
  auto t = p.value("t", DType::kF32, {13, 7, 41});
  auto s = p.value("s", DType::kF32, {13, 7, 41});
  auto c = p.value("c", DType::kF32, {13, 14, 41});
  auto k = p.constant<float>("k", {13, 1, 1}, numbers(13, 3));
  auto a = p.value("a", DType::kF32, {13, 14, 41});
  auto l = p.value("l", DType::kF32, {13, 9, 41});
  auto y = p.value("y", DType::kF32, {13, 9});
  p.node(OpId::kTranspose, {x}, {t}, TransposeAttrs{{2, 0, 1}}, "transpose");
  p.node(OpId::kSoftmax, {t}, {s}, AxisAttrs{-1}, "softmax");
  p.node(OpId::kConcat, {t, s}, {c}, AxisAttrs{1}, "concat");
  p.node(OpId::kMul, {c, k}, {a}, NoAttrs{}, "mul");
  SliceAttrs slice;
  slice.starts = {12}, slice.ends = {3}, slice.axes = {1}, slice.steps = {-1};
  p.node(OpId::kSlice, {a}, {l}, slice, "slice");
  ReduceAttrs mean;
  mean.axes = {2};
  mean.keepdims = 0;
  p.node(OpId::kReduceMean, {l}, {y}, mean, "mean");
  p.entry("main", {x}, {y});
  expect_same(p.finish(), {7, 41, 13}, 1024);
}

// Two numbers a byte, eight a word: parts begin at words. Scales are of all, of a row, of a block.
TEST(VulkanSplit, NumbersOfFourBits) {
  WICK_NEED_DEVICE();
  constexpr int64_t kRows = 45, kColumns = 128;
  for (DType four : {DType::kI4, DType::kU4}) {
    ProgramBuilder p;
    auto value = [&](const char* name, DType t) { return p.value(name, t, {kRows, kColumns}); };
    auto x = value("x", DType::kF32), n = value("n", four), f = value("f", DType::kF32),
         q = value("q", four), r = value("r", DType::kF32), b = value("b", DType::kF32),
         s = value("s", DType::kF32), y = value("y", DType::kF32);
    auto steps = [](size_t count) {
      std::vector<float> v = numbers(count, 0.1f);
      for (float& step : v) step = 0.2f + step;
      return v;
    };
    auto all = p.constant<float>("all", {}, {0.125f});
    auto row = p.constant<float>("row", {kRows}, steps(kRows));
    auto block = p.constant<float>("block", {kRows, kColumns / 32}, steps(kRows * kColumns / 32));
    auto scaled = p.value("scaled", DType::kF32, {kRows, kColumns});
    auto eight = p.constant<float>("eight", {}, {8});
    QuantizeAttrs to_four;
    to_four.output_dtype = static_cast<int64_t>(four);
    to_four.axis = 0;
    DequantizeAttrs by_row, by_block;
    by_row.axis = 0;
    by_block.axis = 1, by_block.block_size = 32;
    CastAttrs cast, back;
    cast.to = static_cast<int64_t>(four);
    back.to = static_cast<int64_t>(DType::kF32);
    p.node(OpId::kMul, {x, eight}, {scaled}, NoAttrs{}, "scaled");
    p.node(OpId::kCast, {scaled}, {n}, cast, "cast");
    p.node(OpId::kCast, {n}, {f}, back, "back");
    p.node(OpId::kQuantizeLinear, {x, row}, {q}, to_four, "quantize");
    p.node(OpId::kDequantizeLinear, {q, row}, {r}, by_row, "rows");
    p.node(OpId::kDequantizeLinear, {n, block}, {b}, by_block, "blocks");
    auto whole = value("whole", DType::kF32);
    p.node(OpId::kDequantizeLinear, {q, all}, {whole}, by_row, "one scale");
    auto half = value("half", DType::kF32);
    p.node(OpId::kAdd, {f, r}, {s}, NoAttrs{}, "first sum");
    p.node(OpId::kAdd, {b, whole}, {half}, NoAttrs{}, "second sum");
    p.node(OpId::kAdd, {s, half}, {y}, NoAttrs{}, "sum");
    p.entry("main", {x}, {y});
    expect_same(p.finish(), {kRows, kColumns}, 1024);
  }
}

// A row of an odd number of them ends within a byte.
TEST(VulkanSplit, APartThatEndsWithinAByteGoesToTheCpu) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2, 255});
  auto n = p.value("n", DType::kI4, {2, 255});
  auto y = p.value("y", DType::kF32, {2, 255});
  auto row = p.constant<float>("row", {2}, {0.25f, 0.5f});
  CastAttrs cast;
  cast.to = static_cast<int64_t>(DType::kI4);
  DequantizeAttrs by_row;
  by_row.axis = 0;
  p.node(OpId::kCast, {x}, {n}, cast, "cast");
  p.node(OpId::kDequantizeLinear, {n, row}, {y}, by_row, "rows");
  p.entry("main", {x}, {y});
  expect_same(p.finish(), {2, 255}, 1536, "rows");
}

// If a shader can address each of several tables whole, each becomes one part; else the CPU looks
// up.
TEST(VulkanSplit, TablesOfAGather) {
  WICK_NEED_DEVICE();
  for (int64_t axis : {0, 1}) {
    ProgramBuilder p;
    auto x = p.value("x", DType::kF32, {60});
    auto far = p.constant<float>("far", {}, {10});
    auto t = p.value("t", DType::kF32, {60});
    auto i = p.value("i", DType::kI64, {60});
    auto table = p.constant<float>("table", {12, 12, 8}, numbers(1152, 1));
    const std::vector<int64_t> made =
        axis == 0 ? std::vector<int64_t>{60, 12, 8} : std::vector<int64_t>{12, 60, 8};
    auto g = p.value("g", DType::kF32, made);
    auto y = p.value("y", DType::kF32, made);
    CastAttrs cast;
    cast.to = static_cast<int64_t>(DType::kI64);
    p.node(OpId::kMul, {x, far}, {t}, NoAttrs{}, "scaled");
    p.node(OpId::kCast, {t}, {i}, cast, "indices");
    p.node(OpId::kGather, {table, i}, {g}, AxisAttrs{axis}, "gather");
    p.node(OpId::kNeg, {g}, {y}, NoAttrs{}, "neg");
    p.entry("main", {x}, {y});
    expect_same(p.finish(), {60}, 1024, axis == 0 ? "gather" : "");
  }
}

// One sum over all of a tensor has one chain of additions: it is the CPU's.
TEST(VulkanSplit, WhatCannotBeCutGoesToTheCpu) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {40, 40});
  auto h = p.value("h", DType::kF32, {40, 40});
  auto y = p.value("y", DType::kF32, {1, 1});
  p.node(OpId::kNeg, {x}, {h}, NoAttrs{}, "neg");
  p.node(OpId::kReduceSum, {h}, {y}, ReduceAttrs{{0, 1}, 1, 0}, "sum");
  p.entry("main", {x}, {y});
  expect_same(p.finish(), {40, 40}, 1024, "sum");
}

// A device without 16-bit storage.
PFN_vkGetPhysicalDeviceFeatures2 real_features = nullptr;
void no_halves(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
  real_features(device, features);
  for (auto* s = static_cast<VkBaseOutStructure*>(features->pNext); s != nullptr; s = s->pNext) {
    if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES)
      reinterpret_cast<VkPhysicalDevice16BitStorageFeatures*>(s)->storageBuffer16BitAccess = 0;
  }
}
void without_halves(vulkan::Api& api) {
  if (api.GetPhysicalDeviceFeatures2 == nullptr || api.GetPhysicalDeviceFeatures2 == no_halves)
    return;
  real_features = api.GetPhysicalDeviceFeatures2;
  api.GetPhysicalDeviceFeatures2 = no_halves;
}

// An op that has shaders of float32 only is run between casts, and each of those is split.
template <class T>
void expect_same_in_16_bits() {
  constexpr DType kType = dtype_of<T>;
  auto narrow = [](size_t n, float scale) {
    std::vector<T> v;
    for (float f : numbers(n, scale)) v.emplace_back(f);
    return v;
  };
  CastAttrs to, back;
  to.to = static_cast<int64_t>(kType);
  back.to = static_cast<int64_t>(DType::kF32);
  {
    ProgramBuilder p;
    auto x = p.value("x", DType::kF32, {3, 2, 9, 7});
    auto i = p.value("i", kType, {3, 2, 9, 7});
    auto w = p.constant<T>("w", {12, 2, 3, 3}, narrow(216, 0.5f));
    auto b = p.constant<T>("b", {12}, narrow(12, 0.1f));
    auto h = p.value("h", kType, {3, 12, 9, 7});
    auto v = p.constant<T>("v", {24, 3, 3, 3}, narrow(648, 0.5f));
    auto g = p.value("g", kType, {3, 24, 9, 7});
    auto m = p.value("m", kType, {3, 24, 8, 6});
    auto y = p.value("y", DType::kF32, {3, 24, 8, 6});
    ConvAttrs same;
    same.pads = {1, 1, 1, 1};
    ConvAttrs groups = same;
    groups.group = 4;
    PoolAttrs pool;
    pool.kernel_shape = {2, 2};
    p.node(OpId::kCast, {x}, {i}, to, "to");
    p.node(OpId::kConv, {i, w, b}, {h}, same, "first");
    p.node(OpId::kConv, {h, v}, {g}, groups, "second");
    p.node(OpId::kMaxPool, {g}, {m}, pool, "pool");
    p.node(OpId::kCast, {m}, {y}, back, "back");
    p.entry("main", {x}, {y});
    expect_same(p.finish(), {3, 2, 9, 7}, 2304, "", without_halves);
  }
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {6, 32, 64});
  auto i = p.value("i", kType, {6, 32, 64});
  auto s = p.value("s", kType, {6, 32, 64});
  auto w = p.constant<T>("w", {64, 24}, narrow(64 * 24, 0.2f));
  auto h = p.value("h", kType, {6, 32, 24});
  auto r = p.value("r", kType, {6, 32});
  auto y = p.value("y", DType::kF32, {6, 32});
  ReduceAttrs mean;
  mean.axes = {2};
  mean.keepdims = 0;
  p.node(OpId::kCast, {x}, {i}, to, "to");
  p.node(OpId::kSoftmax, {i}, {s}, AxisAttrs{-1}, "softmax");
  p.node(OpId::kMatMul, {s, w}, {h}, NoAttrs{}, "product");
  p.node(OpId::kReduceMean, {h}, {r}, mean, "mean");
  p.node(OpId::kCast, {r}, {y}, back, "back");
  p.entry("main", {x}, {y});
  expect_same(p.finish(), {6, 32, 64}, 1 << 13, "", without_halves);
}

TEST(VulkanSplit, Float16WithoutItsStorage) {
  WICK_NEED_DEVICE();
  expect_same_in_16_bits<Half>();
}

TEST(VulkanSplit, BFloat16) {
  WICK_NEED_DEVICE();
  expect_same_in_16_bits<BFloat16>();
}

// An exponent of another dtype is cast as well.
TEST(VulkanSplit, PowersOfTwoDtypes) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {40, 40});
  std::vector<int32_t> exponents(1600);
  for (size_t k = 0; k < exponents.size(); ++k) exponents[k] = static_cast<int32_t>(k % 3);
  auto e = p.constant<int32_t>("e", {40, 40}, exponents);
  auto y = p.value("y", DType::kF32, {40, 40});
  p.node(OpId::kPow, {x, e}, {y}, NoAttrs{}, "power");
  p.entry("main", {x}, {y});
  expect_same(p.finish(), {40, 40}, 1024);
}

// Cut or not, a sum over all of a large tensor is the CPU's, and it says so of the sum.
TEST(VulkanSplit, WhatCannotBeCutIn16BitsGoesToTheCpu) {
  WICK_NEED_DEVICE();
  ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {40, 40});
  auto h = p.value("h", DType::kBF16, {40, 40});
  auto s = p.value("s", DType::kBF16, {1, 1});
  auto y = p.value("y", DType::kF32, {1, 1});
  CastAttrs to, back;
  to.to = static_cast<int64_t>(DType::kBF16);
  back.to = static_cast<int64_t>(DType::kF32);
  p.node(OpId::kCast, {x}, {h}, to, "to");
  p.node(OpId::kReduceSum, {h}, {s}, ReduceAttrs{{0, 1}, 1, 0}, "sum");
  p.node(OpId::kCast, {s}, {y}, back, "back");
  p.entry("main", {x}, {y});
  expect_same(p.finish(), {40, 40}, 1024, "sum");
}

}  // namespace
}  // namespace wick::test
