// The bytes of packed weights, as files hold them: a change to them must raise kPackedVersion, so
// that packed forms in older files are packed again and not misread.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "runtime/core/sha256.h"
#include "runtime/kernels/bytes/byte_tiles.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/prepared.h"
#include "runtime/kernels/product_rows.h"
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
    {"bytes_conv", 0xD0204, "19d0d05f"},
    {"bytes_conv", 0xD0208, "f7ee3aa6"},
    {"bytes_conv", 0xD0404, "12b3f90c"},
    {"bytes_conv", 0xD0408, "498f93d8"},
    {"bytes_conv", 0xD0420, "cac358cc"},
    {"bytes_depthwise", 0x100002, "3bf2ffa8"},
    {"bytes_depthwise", 0x100004, "640af93c"},
    {"bytes_dynamic", 0xE0410, "b5f6e758"},
    {"bytes_dynamic", 0xE0420, "3de9d2cd"},
    {"bytes_dynamic", 0xE0A02, "40ddd5ee"},
    {"bytes_dynamic", 0xE0A08, "b1137917"},
    {"bytes_dynamic", 0xE0A10, "0630b888"},
    {"bytes_dynamic", 0xE0A20, "226faf9a"},
    {"bytes_first", 0xD0204, "44fcbeff"},
    {"bytes_first", 0xD0208, "01897a2b"},
    {"bytes_first", 0xD0404, "a71a7e90"},
    {"bytes_first", 0xD0408, "a5c79a17"},
    {"bytes_first", 0xD0440, "9de21bc7"},
    {"bytes_gemm", 0xE0410, "b5f6e758"},
    {"bytes_gemm", 0xE0420, "3de9d2cd"},
    {"bytes_gemm", 0xE0A02, "40ddd5ee"},
    {"bytes_gemm", 0xE0A08, "b1137917"},
    {"bytes_gemm", 0xE0A10, "0630b888"},
    {"bytes_gemm", 0xE0A20, "226faf9a"},
    {"bytes_groups", 0xD0204, "d9c68ac8"},
    {"bytes_groups", 0xD0208, "d9c68ac8"},
    {"bytes_groups", 0xD0404, "efcd4402"},
    {"bytes_groups", 0xD0408, "efcd4402"},
    {"bytes_matmul", 0xF0410, "7a0b2cfe"},
    {"bytes_matmul", 0xF0420, "ca2eb5cc"},
    {"bytes_matmul", 0xF0A02, "e74eee88"},
    {"bytes_matmul", 0xF0A08, "d5481a4e"},
    {"bytes_matmul", 0xF0A10, "a519e422"},
    {"bytes_matmul", 0xF0A20, "791619db"},
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
    {"pairs_conv", 0x160003, "ae859738"},
    {"pairs_conv", 0x16000C, "5dfe63b2"},
    {"pairs_conv", 0x160018, "e3d09371"},
    {"pairs_conv", 0x160030, "7e0c7a8b"},
    {"pairs_conv", 0x168030, "7715e9cb"},
    {"pairs_linear", 0x140003, "40311fde"},
    {"pairs_linear", 0x14000C, "25f6fb6b"},
    {"pairs_linear", 0x140018, "2c6c5f96"},
    {"pairs_linear", 0x140030, "2ea80d0a"},
    {"pairs_linear", 0x148030, "0152572b"},
    {"pairs_matmul", 0x150003, "09255069"},
    {"pairs_matmul", 0x15000C, "53878e8c"},
    {"pairs_matmul", 0x150018, "e0fae690"},
    {"pairs_matmul", 0x150030, "edefab15"},
    {"pairs_matmul", 0x158030, "d22d16ca"},
    {"winograd", 0x130003, "7f139004"},
    {"winograd", 0x13000C, "6c07e3de"},
    {"winograd", 0x130018, "072128ba"},
    {"winograd", 0x130030, "9662a9b4"},
};
// clang-format on

struct Case {
  const char* name;
  OpId op;
  Shape x, w, y;
  int64_t groups = 1;
  Products products = Products::kExact;
};
const Case kCases[] = {
    {"linear", OpId::kLinear, {5, 19}, {53, 19}, {5, 53}},
    {"matmul", OpId::kMatMul, {5, 19}, {19, 53}, {5, 53}},
    {"conv", OpId::kConv, {1, 5, 30, 30}, {13, 5, 3, 3}, {1, 13, 28, 28}},
    {"conv_small", OpId::kConv, {1, 40, 3, 3}, {130, 40, 3, 3}, {1, 130, 1, 1}},
    {"conv_groups", OpId::kConv, {1, 8, 30, 30}, {14, 4, 3, 3}, {1, 14, 28, 28}, 2},
    {"depthwise", OpId::kConv, {1, 21, 9, 9}, {21, 1, 3, 3}, {1, 21, 7, 7}, 21},
    {"pairs_linear", OpId::kFusedLinear, {5, 19}, {53, 19}, {5, 53}, 1, Products::kBf16},
    {"pairs_matmul", OpId::kFusedMatMul, {5, 19}, {19, 53}, {5, 53}, 1, Products::kBf16},
    {"pairs_conv", OpId::kConv, {1, 5, 9, 9}, {53, 5, 3, 3}, {1, 53, 7, 7}, 1, Products::kBf16},
    {"winograd", OpId::kConv, {1, 5, 9, 9}, {53, 5, 3, 3}, {1, 53, 7, 7}, 1, Products::kWinograd},
    {"bytes_conv", OpId::kQLinearConv, {1, 37, 9, 9}, {21, 37, 3, 3}, {1, 21, 7, 7}},
    {"bytes_first", OpId::kQLinearConv, {1, 3, 9, 9}, {41, 3, 3, 3}, {1, 41, 7, 7}},
    {"bytes_groups", OpId::kQLinearConv, {1, 8, 30, 30}, {14, 4, 3, 3}, {1, 14, 28, 28}, 2},
    {"bytes_depthwise", OpId::kQLinearConv, {1, 21, 9, 9}, {21, 1, 3, 3}, {1, 21, 7, 7}, 21},
    {"bytes_gemm", OpId::kQGemm, {5, 19}, {53, 19}, {5, 53}},
    {"bytes_matmul", OpId::kQLinearMatMul, {5, 19}, {19, 53}, {5, 53}},
    {"bytes_dynamic", OpId::kDynamicLinear, {5, 19}, {53, 19}, {5, 53}},
};

// The layout without its version, and the first digits of the form's sha256.
Known form_of(const Case& c, std::string* digest) {
  const bool dynamic = c.op == OpId::kDynamicLinear, conv_op = c.w.rank() == 4;
  const bool quantized =
      c.op == OpId::kQLinearConv || c.op == OpId::kQGemm || c.op == OpId::kQLinearMatMul;
  std::vector<float> w(static_cast<size_t>(numel(c.w)));
  std::vector<int8_t> bytes_of_w(w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] = static_cast<float>(i) + 0.5f;
    bytes_of_w[i] = static_cast<int8_t>(i * 7 % 256);
  }
  ConvAttrs conv;
  conv.group = c.groups;
  conv.products = static_cast<int64_t>(c.products);
  EpilogueAttrs product;  // MatMul and the like read nothing of it
  product.products = conv.products;
  const DType x = quantized ? DType::kU8 : DType::kF32, y = dynamic ? DType::kF32 : x;
  std::vector<TensorView> in = {TensorView(nullptr, x, c.x)};
  const TensorView real(nullptr, DType::kF32, {}), u8(nullptr, DType::kU8, {});
  const TensorView i8(nullptr, DType::kI8, {});
  if (quantized) in.insert(in.end(), {real, u8});
  in.push_back(quantized || dynamic ? TensorView(bytes_of_w.data(), DType::kI8, c.w)
                                    : TensorView(w.data(), DType::kF32, c.w));
  if (quantized) in.insert(in.end(), {real, i8});
  if (c.op == OpId::kQGemm) in.push_back(TensorView());
  if (quantized) in.insert(in.end(), {real, u8});
  if (dynamic) in.push_back(real);
  const TensorView out[] = {TensorView(nullptr, y, c.y)};
  const KernelQuery query{c.op, conv_op ? static_cast<const void*>(&conv) : &product, in, out, 1};
  const KernelSet* sets[] = {&kCpuKernels, &kProductKernels};
  PreparedKernel kernel;
  if (!kernel.prepare(sets, query).ok() || kernel.pack_of(0) == nullptr ||
      kernel.pack_of(0)->layout == 0)
    return {c.name, 0, ""};
  const KernelPlan::Pack want = *kernel.pack_of(0);
  const size_t bytes = want.bytes;
  void* form = default_allocator().allocate(bytes, kAlignment);
  memset(form, 0xEE, bytes);
  EXPECT_TRUE(kernel.pack(query, 0, form).ok());
  Sha256 sha;
  sha.update({static_cast<const uint8_t*>(form), bytes});
  uint8_t sum[32];
  sha.finish(sum);
  default_allocator().deallocate(form, bytes, kAlignment);
  char text[9];
  snprintf(text, sizeof(text), "%02x%02x%02x%02x", sum[0], sum[1], sum[2], sum[3]);
  *digest = text;
  EXPECT_EQ(want.layout >> 24, kPackedVersion) << c.name;
  return {c.name, want.layout & 0xFFFFFF, ""};
}

TEST(PackedForms, AreTheBytesOfTheirVersion) {
  EXPECT_EQ(kPackedVersion, kVersionOfTheTable) << "write the table anew";
  int compared = 0, packed = 0;
  for_each_simd_target([&](int64_t target) {
    for (const bool more : {true, false}) {
      allow_byte_instructions(more);
      for (const Case& c : kCases) {
        std::string digest;
        const Known got = form_of(c, &digest);
        if (got.layout == 0) continue;
        ++packed;
        const int before = compared;
        for (const Known& want : kKnown) {
          if (std::string(want.name) != got.name || want.layout != got.layout) continue;
          ++compared;
          EXPECT_EQ(digest, want.digest) << c.name << " on " << simd_target_name(target)
                                         << ": the bytes of a packed form changed: raise "
                                            "kPackedVersion and write the table anew";
        }
        if (::testing::Test::HasFailure() || compared == before)
          printf("    {\"%s\", 0x%05X, \"%s\"},\n", c.name, got.layout, digest.c_str());
      }
    }
    allow_byte_instructions(true);
  });
  if (packed == 0) GTEST_SKIP() << "not supported by this CPU";
#if defined(__x86_64__)
  EXPECT_EQ(compared, packed);
#endif
}

}  // namespace
}  // namespace wick
