// Times RNN, GRU and LSTM with packed weights: microseconds per sequence and GFLOP/s, and the
// reference loops for comparison.
//   rnn_bench [threads] [--reference]
#include "bench/row_bench.h"

namespace {

using wick::DType;
using wick::OpId;
using wick::TensorView;

struct Cell {
  const char* name;
  OpId op;
  int64_t seq, batch, input, hidden, direction;
};
constexpr Cell kCells[] = {
    {"LSTM", OpId::kLSTM, 1, 1, 128, 128, 0},   {"LSTM", OpId::kLSTM, 1, 3, 128, 128, 0},
    {"LSTM", OpId::kLSTM, 100, 1, 256, 256, 0}, {"LSTM", OpId::kLSTM, 100, 16, 256, 256, 0},
    {"GRU", OpId::kGRU, 100, 1, 128, 128, 2},   {"GRU", OpId::kGRU, 100, 16, 256, 256, 2},
    {"RNN", OpId::kRNN, 100, 4, 256, 256, 0},   {"LSTM", OpId::kLSTM, 50, 8, 512, 1024, 0},
};

void bench(const Cell& c, wick::ThreadPool* pool, bool reference) {
  wick::bench::Tensors t;
  wick::RnnAttrs a;
  a.direction = c.direction;
  const int64_t dirs = c.direction == 2 ? 2 : 1;
  const int64_t gates = c.op == OpId::kLSTM ? 4 : c.op == OpId::kGRU ? 3 : 1;
  const auto f32 = [&](const wick::Shape& s) {
    TensorView v = t.make(DType::kF32, s);
    for (int64_t i = 0; i < v.numel(); ++i) v.as<float>()[i] *= 0.1f;
    return v;
  };
  const std::vector<TensorView> in = {
      f32({c.seq, c.batch, c.input}), f32({dirs, gates * c.hidden, c.input}),
      f32({dirs, gates * c.hidden, c.hidden}), f32({dirs, 2 * gates * c.hidden})};
  std::vector<TensorView> out = {f32({c.seq, dirs, c.batch, c.hidden}),
                                 f32({dirs, c.batch, c.hidden})};
  if (c.op == OpId::kLSTM) out.push_back(f32({dirs, c.batch, c.hidden}));
  wick::bench::Row simd(t, wick::kCpuKernels, c.op, &a, in, out, pool);
  wick::bench::Row plain(t, wick::kReferenceKernels, c.op, &a, in, out, pool);
  const double flop = 2.0 * static_cast<double>(c.seq * c.batch * dirs * gates * c.hidden) *
                      static_cast<double>(c.input + c.hidden);
  reference = reference && flop < 1e8;  // it would take seconds otherwise
  const int repeat = std::max(1, static_cast<int>(0.02 / std::max(1e-7, simd.seconds(1))));
  std::vector<double> mine, loops;
  for (int round = 0; round < 9; ++round) {
    mine.push_back(simd.seconds(repeat));
    if (reference && round < 3) loops.push_back(plain.seconds(1));
  }
  const double us = wick::bench::median(mine) * 1e6;
  printf("%s T %3ld batch %2ld input %4ld hidden %4ld%s threads %d: %9.1f us, %6.1f GFLOP/s",
         c.name, c.seq, c.batch, c.input, c.hidden, dirs == 2 ? " both" : "", pool->threads(), us,
         flop / us * 1e-3);
  if (reference) printf(", plain loops %9.1f us", wick::bench::median(loops) * 1e6);
  printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  auto pool = wick::ThreadPool::create(wick::default_allocator(), threads < 1 ? 1 : threads);
  if (!pool.ok()) return puts("no threads"), 1;
  wick::bench::of_one_thread() = threads <= 1;
  for (const Cell& c : kCells) bench(c, *pool, argc > 2);
  wick::ThreadPool::destroy(*pool);
}
