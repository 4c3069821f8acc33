// Compares int8 with f32: layers of ResNet-18, ResNet-50 and MobileNetV2 and matrix products, with
// the integer kernel and our own float32 one taking turns. A network's line sums its layers, each
// as often as it occurs.
//   int8_bench [threads] [rounds] [amx | no-amx] [network]
#include <string>

#include "bench/row_bench.h"
#include "runtime/kernels/bytes/byte_amx.h"
#include "runtime/kernels/bytes/byte_tiles.h"
#include "runtime/kernels/simd.h"

namespace {

using wick::DType;
using wick::OpId;
using wick::TensorView;
using wick::bench::Row;
using wick::bench::Tensors;

TensorView number(Tensors& t, DType dtype, double v) {
  TensorView one = t.make(dtype, {});
  if (dtype == DType::kF32) {
    one.as<float>()[0] = static_cast<float>(v);
  } else {
    one.as<uint8_t>()[0] = static_cast<uint8_t>(v);
  }
  return one;
}
TensorView filled(Tensors& t, DType dtype, int64_t n, float v) {
  TensorView all = t.make(dtype, {n});
  for (int64_t i = 0; i < n; ++i) {
    if (dtype == DType::kF32) {
      all.as<float>()[i] = v;
    } else if (dtype == DType::kI32) {
      all.as<int32_t>()[i] = static_cast<int32_t>(v);
    } else {
      all.as<uint8_t>()[i] = static_cast<uint8_t>(v);
    }
  }
  return all;
}

struct Times {
  double bytes = 1e9, real = 1e9;
};
Times best_of(std::vector<Row>& rows, double products, int rounds) {
  Times best;
  const int repeat = std::max(1, static_cast<int>(4e7 / products));
  for (int i = 0; i < rounds; ++i) {
    best.bytes = std::min(best.bytes, rows[0].seconds(repeat));
    best.real = std::min(best.real, rows[1].seconds(std::max(1, repeat / 3)));
  }
  return best;
}

struct Layer {
  int64_t channels, outputs, size, kernel, stride, group, times;
};

Times conv(wick::ThreadPool* pool, const Layer& l, int rounds) {
  Tensors t;
  wick::ConvAttrs a;
  const int64_t pad = l.kernel / 2, to = (l.size + 2 * pad - l.kernel) / l.stride + 1;
  a.strides = {l.stride, l.stride}, a.pads = {pad, pad, pad, pad}, a.group = l.group;
  const wick::Shape x = {1, l.channels, l.size, l.size}, y = {1, l.outputs, to, to};
  const wick::Shape w = {l.outputs, l.channels / l.group, l.kernel, l.kernel};
  std::vector<Row> rows;
  rows.emplace_back(
      t, wick::kCpuKernels, OpId::kQLinearConv, &a,
      std::vector<TensorView>{t.make(DType::kU8, x), number(t, DType::kF32, 0.02),
                              number(t, DType::kU8, 120), t.make(DType::kI8, w),
                              filled(t, DType::kF32, l.outputs, 0.01f),
                              filled(t, DType::kI8, l.outputs, 0), number(t, DType::kF32, 0.5),
                              number(t, DType::kU8, 110), filled(t, DType::kI32, l.outputs, 1)},
      std::vector<TensorView>{t.make(DType::kU8, y)}, pool);
  rows.emplace_back(t, wick::kCpuKernels, OpId::kConv, &a,
                    std::vector<TensorView>{t.make(DType::kF32, x), t.make(DType::kF32, w),
                                            t.make(DType::kF32, {l.outputs})},
                    std::vector<TensorView>{t.make(DType::kF32, y)}, pool);
  const double products =
      static_cast<double>(to * to * l.outputs * l.channels / l.group * l.kernel * l.kernel);
  const Times best = best_of(rows, products, rounds);
  printf(
      "%4ld -> %4ld  %3ld^2 k%ld s%ld%s x%-2ld %8.1f us (%6.1f G/s)  f32 %8.1f us (%5.1f G/s)  "
      "%5.2fx\n",
      l.channels, l.outputs, l.size, l.kernel, l.stride, l.group > 1 ? " dw" : "   ", l.times,
      best.bytes * 1e6, products / best.bytes * 1e-9, best.real * 1e6, products / best.real * 1e-9,
      best.real / best.bytes);
  fflush(stdout);
  return best;
}

void network(wick::ThreadPool* pool, const char* name, const std::vector<Layer>& layers,
             int rounds) {
  Times sum{0, 0};
  for (const Layer& l : layers) {
    const Times t = conv(pool, l, rounds);
    sum.bytes += t.bytes * static_cast<double>(l.times);
    sum.real += t.real * static_cast<double>(l.times);
  }
  printf("%s: convolutions %.3f ms, f32 %.3f ms: %.2fx\n", name, sum.bytes * 1e3, sum.real * 1e3,
         sum.real / sum.bytes);
}

void product(wick::ThreadPool* pool, bool dynamic, int64_t m, int64_t n, int64_t k, int rounds) {
  Tensors t;
  wick::NoAttrs a;
  const TensorView real = t.make(DType::kF32, {m, k});
  const TensorView w = t.make(DType::kI8, {n, k}), scale = filled(t, DType::kF32, n, 0.01f);
  std::vector<TensorView> in = {t.make(DType::kU8, {m, k}),
                                number(t, DType::kF32, 0.02),
                                number(t, DType::kU8, 120),
                                w,
                                scale,
                                filled(t, DType::kI8, n, 0),
                                filled(t, DType::kI32, n, 1),
                                number(t, DType::kF32, 0.5),
                                number(t, DType::kU8, 110)};
  if (dynamic) in = {real, w, scale, t.make(DType::kF32, {n})};
  std::vector<Row> rows;
  rows.emplace_back(t, wick::kCpuKernels, dynamic ? OpId::kDynamicLinear : OpId::kQGemm, &a, in,
                    std::vector<TensorView>{t.make(dynamic ? DType::kF32 : DType::kU8, {m, n})},
                    pool);
  rows.emplace_back(
      t, wick::kCpuKernels, OpId::kLinear, &a,
      std::vector<TensorView>{real, t.make(DType::kF32, {n, k}), t.make(DType::kF32, {n})},
      std::vector<TensorView>{t.make(DType::kF32, {m, n})}, pool);
  const double products = static_cast<double>(m * n * k);
  const Times best = best_of(rows, products, rounds);
  printf("%s %4ld x %5ld x %5ld %8.1f us (%6.1f G/s, %5.1f GB/s)  f32 %8.1f us  %5.2fx\n",
         dynamic ? "DynamicLinear" : "QGemm        ", m, n, k, best.bytes * 1e6,
         products / best.bytes * 1e-9, static_cast<double>(n * k) / best.bytes * 1e-9,
         best.real * 1e6, best.real / best.bytes);
  fflush(stdout);
}

const std::vector<Layer> kResNet18 = {
    {3, 64, 224, 7, 2, 1, 1},   {64, 64, 56, 3, 1, 1, 4},   {64, 128, 56, 3, 2, 1, 1},
    {64, 128, 56, 1, 2, 1, 1},  {128, 128, 28, 3, 1, 1, 3}, {128, 256, 28, 3, 2, 1, 1},
    {128, 256, 28, 1, 2, 1, 1}, {256, 256, 14, 3, 1, 1, 3}, {256, 512, 14, 3, 2, 1, 1},
    {256, 512, 14, 1, 2, 1, 1}, {512, 512, 7, 3, 1, 1, 3}};
const std::vector<Layer> kResNet50 = {
    {3, 64, 224, 7, 2, 1, 1},     {64, 64, 56, 1, 1, 1, 1},    {64, 64, 56, 3, 1, 1, 3},
    {64, 256, 56, 1, 1, 1, 4},    {256, 64, 56, 1, 1, 1, 2},   {256, 128, 56, 1, 1, 1, 1},
    {128, 128, 56, 3, 2, 1, 1},   {128, 128, 28, 3, 1, 1, 3},  {128, 512, 28, 1, 1, 1, 4},
    {256, 512, 56, 1, 2, 1, 1},   {512, 128, 28, 1, 1, 1, 3},  {512, 256, 28, 1, 1, 1, 1},
    {256, 256, 28, 3, 2, 1, 1},   {256, 256, 14, 3, 1, 1, 5},  {256, 1024, 14, 1, 1, 1, 6},
    {512, 1024, 28, 1, 2, 1, 1},  {1024, 256, 14, 1, 1, 1, 5}, {1024, 512, 14, 1, 1, 1, 1},
    {512, 512, 14, 3, 2, 1, 1},   {512, 512, 7, 3, 1, 1, 2},   {512, 2048, 7, 1, 1, 1, 3},
    {1024, 2048, 14, 1, 2, 1, 1}, {2048, 512, 7, 1, 1, 1, 2}};
const std::vector<Layer> kMobileNetV2 = {
    {3, 32, 224, 3, 2, 1, 1},     {32, 32, 112, 3, 1, 32, 1},   {32, 16, 112, 1, 1, 1, 1},
    {16, 96, 112, 1, 1, 1, 1},    {96, 96, 112, 3, 2, 96, 1},   {96, 24, 56, 1, 1, 1, 1},
    {24, 144, 56, 1, 1, 1, 2},    {144, 144, 56, 3, 1, 144, 1}, {144, 24, 56, 1, 1, 1, 1},
    {144, 144, 56, 3, 2, 144, 1}, {144, 32, 28, 1, 1, 1, 1},    {32, 192, 28, 1, 1, 1, 3},
    {192, 192, 28, 3, 1, 192, 2}, {192, 32, 28, 1, 1, 1, 2},    {192, 192, 28, 3, 2, 192, 1},
    {192, 64, 14, 1, 1, 1, 1},    {64, 384, 14, 1, 1, 1, 4},    {384, 384, 14, 3, 1, 384, 4},
    {384, 64, 14, 1, 1, 1, 3},    {384, 96, 14, 1, 1, 1, 1},    {96, 576, 14, 1, 1, 1, 3},
    {576, 576, 14, 3, 1, 576, 2}, {576, 96, 14, 1, 1, 1, 2},    {576, 576, 14, 3, 2, 576, 1},
    {576, 160, 7, 1, 1, 1, 1},    {160, 960, 7, 1, 1, 1, 3},    {960, 960, 7, 3, 1, 960, 3},
    {960, 160, 7, 1, 1, 1, 2},    {960, 320, 7, 1, 1, 1, 1},    {320, 1280, 7, 1, 1, 1, 1}};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 5;
  wick::allow_byte_instructions(argc <= 3 || std::string(argv[3]) != "no-amx");
  auto pool = wick::ThreadPool::create(wick::default_allocator(), threads);
  if (!pool.ok()) return puts("no threads"), 1;
  printf("%s%s, %d threads\n", wick::simd_target_name(wick::simd_targets() & -wick::simd_targets()),
         wick::byte_amx() ? " with AMX" : "", threads);
  wick::bench::of_one_thread() = threads == 1;
  const std::string only = argc > 4 ? argv[4] : "";
  if (only.empty() || only == "ResNet-18") network(*pool, "ResNet-18", kResNet18, rounds);
  if (only.empty() || only == "ResNet-50") network(*pool, "ResNet-50", kResNet50, rounds);
  if (only.empty() || only == "MobileNetV2") network(*pool, "MobileNetV2", kMobileNetV2, rounds);
  if (!only.empty()) return wick::ThreadPool::destroy(*pool), 0;
  for (const bool dynamic : {false, true}) {
    for (const int64_t m : {1, 4, 16, 64, 256}) product(*pool, dynamic, m, 768, 768, rounds);
    product(*pool, dynamic, 1, 3072, 768, rounds);
    product(*pool, dynamic, 1, 50304, 768, rounds);
    product(*pool, dynamic, 64, 768, 3072, rounds);
  }
  wick::ThreadPool::destroy(*pool);
}
