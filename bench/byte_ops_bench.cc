// Times byte operators that work element by element, window by window or row by row: microseconds
// per run, compared with the same operator in float32 and with the reference loops; all take turns,
// and medians count.
//   byte_ops_bench [threads]
#include "bench/row_bench.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/simd.h"

namespace {

using wick::DType;
using wick::OpId;
using wick::Shape;
using wick::TensorView;
using wick::bench::Row;
using wick::bench::Tensors;

constexpr wick::NoAttrs kNone;

class Bench {
 public:
  explicit Bench(wick::ThreadPool* pool) : pool_(pool) {}

  TensorView make(DType t, const Shape& s) { return tensors_.make(t, s); }
  TensorView scale(float v) {
    const TensorView t = make(DType::kF32, {});
    t.as<float>()[0] = v;
    return t;
  }

  // Compares a byte operator with one of float32 on as many elements (`in` empty: none).
  void row(const char* name, OpId op, const void* attrs, const std::vector<TensorView>& in,
           const TensorView& out, OpId f32, const void* f32_attrs, std::vector<TensorView> f32_in) {
    const wick::KernelSet& set = op == OpId::kMaxPool ? wick::kHalfKernels : wick::kCpuKernels;
    Row mine(tensors_, set, op, attrs, in, {out}, pool_);
    Row loops(tensors_, wick::kReferenceKernels, op, attrs, in, {out}, pool_);
    std::vector<Row> plain;
    if (!f32_in.empty()) {
      plain.emplace_back(tensors_, wick::kCpuKernels, f32, f32_attrs, std::move(f32_in),
                         std::vector<TensorView>{make(DType::kF32, out.shape)}, pool_);
    }
    std::vector<double> a, b, c;
    for (int round = 0; round < 9; ++round) {
      a.push_back(mine.seconds(10));
      if (round % 3 == 0) b.push_back(loops.seconds(1));
      for (Row& r : plain) c.push_back(r.seconds(10));
    }
    const double us = wick::bench::median(a) * 1e6, ref = wick::bench::median(b) * 1e6;
    printf("%-28s %9.1f us  %6.2f elements/ns  reference %9.1f us (%5.1fx)", name, us,
           static_cast<double>(out.numel()) / us * 1e-3, ref, ref / us);
    if (!c.empty()) {
      const double f = wick::bench::median(c) * 1e6;
      printf("  float32 %9.1f us (%4.1fx)", f, f / us);
    }
    puts("");
    fflush(stdout);
  }

  // Compares bytes with float32 in an operator that moves elements.
  void move(const char* name, OpId op, const void* attrs, const std::vector<Shape>& in,
            const Shape& out) {
    std::vector<Row> rows;
    for (const DType t : {DType::kU8, DType::kF32}) {
      std::vector<TensorView> x;
      for (const Shape& s : in) x.push_back(make(t, s));
      rows.emplace_back(tensors_, wick::kReferenceKernels, op, attrs, x,
                        std::vector<TensorView>{make(t, out)}, pool_);
    }
    std::vector<double> a, b;
    for (int round = 0; round < 9; ++round)
      a.push_back(rows[0].seconds(5)), b.push_back(rows[1].seconds(5));
    const double us = wick::bench::median(a) * 1e6, f = wick::bench::median(b) * 1e6;
    printf("%-28s %9.1f us  %6.2f elements/ns  float32 %9.1f us (%4.1fx)\n", name, us,
           static_cast<double>(numel(out)) / us * 1e-3, f, f / us);
  }

  void binaries(const Shape& a, const Shape& b, const char* what) {
    const DType u8 = DType::kU8;
    const struct {
      const char* name;
      OpId op, f32;
    } all[] = {{"add", OpId::kQLinearAdd, OpId::kAdd}, {"mul", OpId::kQLinearMul, OpId::kMul}};
    for (const auto& o : all) {
      row((std::string(o.name) + " " + what).c_str(), o.op, &kNone,
          {make(u8, a), scale(0.02f), make(u8, {}), make(u8, b), scale(0.03f), make(u8, {}),
           scale(0.04f), make(u8, {})},
          make(u8, a), o.f32, &kNone, {make(DType::kF32, a), make(DType::kF32, b)});
    }
  }
  void pools(const Shape& x, int64_t kernel, int64_t stride, int64_t pad, const char* what) {
    const DType u8 = DType::kU8;
    const wick::PoolAttrs a{{kernel, kernel}, {stride, stride}, {}, {pad, pad, pad, pad}, 0, 0};
    const auto pooled = [&](int64_t n) { return (n + 2 * pad - kernel) / stride + 1; };
    const Shape y = {x[0], x[1], pooled(x[2]), pooled(x[3])};
    row((std::string("average pool ") + what).c_str(), OpId::kQLinearAveragePool, &a,
        {make(u8, x), scale(0.02f), make(u8, {}), scale(0.02f), make(u8, {})}, make(u8, y),
        OpId::kAveragePool, &a, {make(DType::kF32, x)});
    row((std::string("max pool ") + what).c_str(), OpId::kMaxPool, &a, {make(u8, x)}, make(u8, y),
        OpId::kMaxPool, &a, {make(DType::kF32, x)});
  }

 private:
  wick::ThreadPool* pool_;
  Tensors tensors_;
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  auto pool = wick::ThreadPool::create(wick::default_allocator(), threads);
  if (!pool.ok()) return puts("no threads"), 1;
  wick::bench::of_one_thread() = threads == 1;
  printf("%s, %d threads\n", wick::simd_target_name(wick::simd_targets() & -wick::simd_targets()),
         threads);
  const DType u8 = DType::kU8, f32 = DType::kF32;
  {
    Bench b(*pool);
    b.binaries({1, 256, 56, 56}, {1, 256, 56, 56}, "256x56x56");
    b.binaries({1, 512, 7, 7}, {1, 512, 7, 7}, "512x7x7");
    b.binaries({1, 96, 56, 56}, {96, 1, 1}, "by channel");
  }
  {
    Bench b(*pool);
    b.pools({1, 64, 112, 112}, 3, 2, 1, "3x3 s2 112x112");
    b.pools({1, 192, 28, 28}, 3, 1, 1, "3x3 s1 28x28");
    b.pools({1, 64, 56, 56}, 2, 2, 0, "2x2 s2 56x56");
    const wick::PoolAttrs whole{{7, 7}, {1, 1}, {}, {}, 0, 0};
    b.row("global average 1280x7x7", OpId::kQLinearGlobalAveragePool, &kNone,
          {b.make(u8, {1, 1280, 7, 7}), b.scale(0.02f), b.make(u8, {}), b.scale(0.02f),
           b.make(u8, {})},
          b.make(u8, {1, 1280, 1, 1}), OpId::kAveragePool, &whole, {b.make(f32, {1, 1280, 7, 7})});
  }
  Bench b(*pool);
  const Shape x = {1, 96, 112, 112};
  b.row("table (sigmoid)", OpId::kByteTable, &kNone, {b.make(u8, x), b.make(u8, {256})},
        b.make(u8, x), OpId::kSigmoid, &kNone, {b.make(f32, x)});
  b.row("table to float32", OpId::kByteTable, &kNone, {b.make(u8, x), b.make(f32, {256})},
        b.make(f32, x), OpId::kSigmoid, &kNone, {b.make(f32, x)});
  const wick::AxisAttrs last{-1};
  for (int64_t n : {10, 128, 1000}) {
    b.row(
        ("softmax of " + std::to_string(n)).c_str(), OpId::kQLinearSoftmax, &kNone,
        {b.make(u8, {256, n}), b.scale(0.1f), b.make(u8, {}), b.scale(1.0f / 256), b.make(u8, {})},
        b.make(u8, {256, n}), OpId::kSoftmax, &last, {b.make(f32, {256, n})});
  }
  wick::ResizeAttrs nearest;
  nearest.mode = static_cast<int64_t>(wick::ResizeMode::kNearest);
  nearest.coordinates = static_cast<int64_t>(wick::ResizeCoordinates::kAsymmetric);
  const TensorView by = b.make(f32, {4});
  for (int i = 0; i < 4; ++i) by.as<float>()[i] = i < 2 ? 1.0f : 2.0f;
  b.row("nearest, twice as large", OpId::kResize, &nearest,
        {b.make(u8, {1, 64, 56, 56}), TensorView(), by}, b.make(u8, {1, 64, 112, 112}),
        OpId::kResize, &nearest, {b.make(f32, {1, 64, 56, 56}), TensorView(), by});
  const wick::TransposeAttrs last_first{{0, 2, 3, 1}}, turned{{0, 1, 3, 2}};
  const wick::AxisAttrs channels{1}, innermost{3};
  const Shape image = {1, 256, 56, 56}, both = {1, 512, 56, 56}, wide = {1, 256, 56, 112};
  b.move("to channels last", OpId::kTranspose, &last_first, {image}, {1, 56, 56, 256});
  b.move("transpose of 56x56", OpId::kTranspose, &turned, {image}, image);
  b.move("concat of channels", OpId::kConcat, &channels, {image, image}, both);
  b.move("concat of columns", OpId::kConcat, &innermost, {image, image}, wide);
  wick::ThreadPool::destroy(*pool);
}
