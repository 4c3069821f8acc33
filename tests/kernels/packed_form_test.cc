// The bytes of packed weights, as files carry them: whoever changes them raises kPackedVersion, so
// that forms in older files are packed again and not read as what they are not.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "runtime/core/sha256.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/simd.h"

namespace wick {
namespace {

constexpr uint32_t kVersionOfTheTable = 1;
struct Known {
  const char* name;
  uint32_t layout;  // without the version
  const char* digest;
};
// clang-format off
constexpr Known kKnown[] = {
    {"conv", 0x20004, "02a264df"},
    {"conv", 0x20008, "6003de06"},
    {"conv", 0x30003, "d08eb733"},
    {"conv_groups", 0x20004, "79c1339d"},
    {"conv_groups", 0x20008, "4c441a8f"},
    {"conv_groups", 0x30003, "80d721b3"},
    {"conv_small", 0x20004, "c29038de"},
    {"conv_small", 0x3000C, "006efc21"},
    {"conv_small", 0x30018, "0c004c25"},
    {"conv_small", 0x30030, "b50c0a36"},
    {"depthwise", 0x40004, "1b6768a2"},
    {"depthwise", 0x40008, "1b6768a2"},
    {"linear", 0x10003, "127b8399"},
    {"linear", 0x1000C, "ebe357c3"},
    {"linear", 0x10018, "8640ed34"},
    {"linear", 0x10030, "b7c624f1"},
    {"matmul", 0x50003, "3b5ab3fb"},
    {"matmul", 0x5000C, "d71c6404"},
    {"matmul", 0x50018, "bee673bc"},
    {"matmul", 0x50030, "e54f8965"},
};
// clang-format on

struct Case {
  const char* name;
  OpId op;
  Shape x, w, y;
  int64_t groups = 1;
};
const Case kCases[] = {
    {"linear", OpId::kLinear, {5, 19}, {53, 19}, {5, 53}},
    {"matmul", OpId::kMatMul, {5, 19}, {19, 53}, {5, 53}},
    {"conv", OpId::kConv, {1, 5, 30, 30}, {13, 5, 3, 3}, {1, 13, 28, 28}},
    {"conv_small", OpId::kConv, {1, 40, 3, 3}, {130, 40, 3, 3}, {1, 130, 1, 1}},
    {"conv_groups", OpId::kConv, {1, 8, 30, 30}, {14, 4, 3, 3}, {1, 14, 28, 28}, 2},
    {"depthwise", OpId::kConv, {1, 21, 9, 9}, {21, 1, 3, 3}, {1, 21, 7, 7}, 21},
};

// The layout without its version, and the first digits of the form's sha256.
Known form_of(const Case& c, std::string* digest) {
  std::vector<float> w(static_cast<size_t>(numel(c.w)));
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i) + 0.5f;
  ConvAttrs conv;
  conv.group = c.groups;
  const NoAttrs none;
  const TensorView in[] = {TensorView(nullptr, DType::kF32, c.x),
                           TensorView(w.data(), DType::kF32, c.w)};
  const TensorView out[] = {TensorView(nullptr, DType::kF32, c.y)};
  const KernelQuery query{c.op, c.op == OpId::kConv ? static_cast<const void*>(&conv) : &none, in,
                          out, 1};
  const KernelSet* sets[] = {&kCpuKernels};
  const KernelRow* row = find_kernel(sets, query);
  KernelPlan plan;
  if (row == nullptr || row->pack == nullptr || !row->plan(query, &plan).ok() ||
      plan.packs[0].layout == 0)
    return {c.name, 0, ""};
  const size_t bytes = plan.packs[0].bytes;
  void* form = default_allocator().allocate(bytes, kAlignment);
  memset(form, 0xEE, bytes);
  EXPECT_TRUE(row->pack(query, plan, 0, form).ok());
  Sha256 sha;
  sha.update({static_cast<const uint8_t*>(form), bytes});
  uint8_t sum[32];
  sha.finish(sum);
  default_allocator().deallocate(form, bytes, kAlignment);
  char text[9];
  snprintf(text, sizeof(text), "%02x%02x%02x%02x", sum[0], sum[1], sum[2], sum[3]);
  *digest = text;
  EXPECT_EQ(plan.packs[0].layout >> 24, kPackedVersion) << c.name;
  return {c.name, plan.packs[0].layout & 0xFFFFFF, ""};
}

TEST(PackedForms, AreTheBytesOfTheirVersion) {
  EXPECT_EQ(kPackedVersion, kVersionOfTheTable) << "write the table anew";
  int compared = 0, packed = 0;
  for_each_simd_target([&](int64_t target) {
    for (const Case& c : kCases) {
      std::string digest;
      const Known got = form_of(c, &digest);
      if (got.layout == 0) continue;
      ++packed;
      for (const Known& want : kKnown) {
        if (std::string(want.name) != got.name || want.layout != got.layout) continue;
        ++compared;
        EXPECT_EQ(digest, want.digest) << c.name << " on " << simd_target_name(target)
                                       << ": the bytes of a packed form changed: raise "
                                          "kPackedVersion and write the table anew";
      }
      if (::testing::Test::HasFailure() || compared == 0)
        printf("    {\"%s\", 0x%05X, \"%s\"},\n", c.name, got.layout, digest.c_str());
    }
  });
  if (packed == 0) GTEST_SKIP() << "not supported by this CPU";
#if defined(__x86_64__)
  EXPECT_EQ(compared, packed);
#endif
}

}  // namespace
}  // namespace wick
