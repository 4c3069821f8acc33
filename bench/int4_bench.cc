// Times BlockLinear: the weight bytes per second that a product reads, compared with what the
// machine can read from memory at all and with Linear over the same weight in f32; all take turns.
//   int4_bench [threads] [n k [KiB of weights in all, 128 MiB]]
#include "bench/row_bench.h"
#include "runtime/kernels/simd.h"

namespace {

using wick::DType;
using wick::OpId;
using wick::Shape;
using wick::TensorView;

// Returns the seconds of a loop that only reads: it alternates between four places and prefetches
// each, which is the most that one thread was seen to get from memory.
double read_seconds(const std::vector<wick::bench::Row>& rows, wick::ThreadPool* pool) {
  const double begin = wick::bench::now();
  for (const wick::bench::Row& row : rows) {
    const auto* from = static_cast<const char*>(row.form());
    constexpr size_t kPiece = 1 << 18, kPlaces = 4, kPlace = kPiece / kPlaces / 8;
    wick::parallel_for(
        pool, static_cast<int64_t>(row.form_bytes() / kPiece), [&](int64_t task, int) {
          const auto* p =
              reinterpret_cast<const uint64_t*>(from + static_cast<size_t>(task) * kPiece);
          uint64_t sum[kPlaces] = {};
          for (size_t i = 0; i < kPlace; i += 16) {
            for (size_t place = 0; place < kPlaces; ++place) {
              const uint64_t* at = p + place * kPlace + i;
              __builtin_prefetch(at + 256), __builtin_prefetch(at + 264);
              for (size_t j = 0; j < 16; ++j) sum[place] += at[j];
            }
          }
          asm volatile("" : : "r"(sum[0] + sum[1] + sum[2] + sum[3]));
        });
  }
  return wick::bench::now() - begin;
}

size_t g_bytes = size_t{1} << 27;

struct Layer {
  int64_t m, block;
  DType dtype;
  bool half, zeros;
};

void bench(wick::ThreadPool* pool, const Layer& l, int64_t n, int64_t k) {
  wick::bench::Tensors t;
  wick::BlockLinearAttrs a;
  a.block_size = l.block;
  a.zero_point = l.dtype == DType::kU4 && !l.zeros ? 8 : 0;
  const int64_t blocks = (k + l.block - 1) / l.block;
  const TensorView x = t.make(DType::kF32, {l.m, k});
  TensorView scale = t.make(l.half ? DType::kF16 : DType::kF32, {n, blocks});
  for (int64_t i = 0; l.half && i < scale.numel(); ++i) scale.as<uint16_t>()[i] = 0x2000;
  // There are so many weights that none stays in a cache until its next turn.
  std::vector<wick::bench::Row> rows;
  size_t bytes = 0;
  do {
    std::vector<TensorView> in = {x, t.make(l.dtype, {n, k}), scale};
    if (l.zeros) in.push_back(t.make(l.dtype, {n, blocks}));
    rows.emplace_back(t, wick::kCpuKernels, OpId::kBlockLinear, &a, in,
                      std::vector<TensorView>{t.make(DType::kF32, {l.m, n})}, pool);
    bytes = rows.back().packed_bytes();
  } while (rows.size() * bytes < g_bytes);
  const wick::NoAttrs none;
  wick::bench::Row plain(t, wick::kCpuKernels, OpId::kLinear, &none,
                         {x, t.make(DType::kF32, {n, k})}, {t.make(DType::kF32, {l.m, n})}, pool);
  std::vector<double> mine, read, f32;
  for (int round = 0; round < 7; ++round) {
    double sum = 0;
    for (auto& row : rows) sum += row.seconds(1);
    mine.push_back(sum / static_cast<double>(rows.size()));
    // Scaled to as many bytes as a product reads.
    read.push_back(read_seconds(rows, pool) / static_cast<double>(rows.size()) *
                   static_cast<double>(bytes) / static_cast<double>(rows[0].form_bytes()));
    f32.push_back(plain.seconds(l.m > 8 ? 1 : 3));
  }
  const double best = *std::min_element(mine.begin(), mine.end());
  printf(
      "%4ld x %5ld x %5ld  %s blocks of %3ld%s%s T=%d: %8.3f ms (best %8.3f), %5.1f GB/s of "
      "weights, "
      "reading alone %5.1f GB/s (%3.0f %%), f32 Linear %8.3f ms, opening %.1f ms\n",
      l.m, n, k, wick::dtype_name(l.dtype), l.block, l.half ? " f16" : " f32",
      l.zeros ? " zeros" : "", pool->threads(), wick::bench::median(mine) * 1e3, best * 1e3,
      static_cast<double>(bytes) / wick::bench::median(mine) * 1e-9,
      static_cast<double>(bytes) / wick::bench::median(read) * 1e-9,
      100 * wick::bench::median(read) / wick::bench::median(mine), wick::bench::median(f32) * 1e3,
      rows[0].open_seconds() * 1e3);
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  const int64_t n = argc > 3 ? atoll(argv[2]) : 4096, k = argc > 3 ? atoll(argv[3]) : 4096;
  if (argc > 4) g_bytes = static_cast<size_t>(atoll(argv[4])) << 10;
  auto pool = wick::ThreadPool::create(wick::default_allocator(), threads);
  if (!pool.ok()) return puts("no threads"), 1;
  printf("%s\n", wick::simd_target_name(wick::simd_targets() & -wick::simd_targets()));
  wick::bench::of_one_thread() = threads == 1;
  for (const int64_t m : {1, 8, 128}) {
    for (const Layer& l :
         {Layer{m, 32, DType::kU4, false, false}, Layer{m, 32, DType::kI4, true, false},
          Layer{m, 128, DType::kU4, true, true}, Layer{m, 128, DType::kI8, true, false}})
      bench(*pool, l, n, k);
  }
  wick::ThreadPool::destroy(*pool);
}
