// The test row of an op of one's own: what `wick ops test FILE.cc` checks the op by, and `wick ops
// bench FILE.cc` times. It lies in the op's file, as `wick ops new NAME` writes it. Example
// (tools/wick/own_op/skeleton.cc):
//
//   constexpr double kX[] = {3, 4, 0, -5}, kY[] = {0.6, 0.8, 0, -1};
//   constexpr wick::OpSample kSamples[] = {
//       {.in = {{2, 2}}, .attrs = &kExact, .values = kX, .answers = kY},
//       {.in = {{2, 3, 17}}},
//   };
//   constexpr wick::OpTest kTest(&kRowNorm, kSamples, {.in = {{1024, 4096}}}, 8);
//   WICK_EXPORT_OP_TESTS(&kTest)
#pragma once

#include "wick/custom_op.h"

namespace wick {

// Numbers of a constant array, or none.
struct OpNumbers {
  // The numbers, and how many.
  const double* data = nullptr;
  size_t size = 0;
  constexpr OpNumbers() = default;
  template <size_t N>
  constexpr OpNumbers(const double (&numbers)[N]) : data(numbers), size(N) {}  // NOLINT: implicit
};

// The most inputs of a sample.
constexpr int kMaxSampleInputs = 4;

// A call of the op. Its inputs are of one floating dtype, each for which there is a kernel in turn.
struct OpSample {
  Shape in[kMaxSampleInputs];   // the inputs' shapes
  int inputs = 1;               // how many of them are given
  const void* attrs = nullptr;  // the op's struct; null: its defaults
  OpNumbers values = {};        // of input 0, in row-major order; none: from -2 to 2
  OpNumbers answers = {};       // of output 0, worked out by hand: 12 digits count
  int64_t below[kMaxSampleInputs] =
      {};  // input i is int64, from 0 to below[i] - 1, if that is not 0
};

// The samples of an op.
struct OpTest {
  const CustomOp* op = nullptr;       // which op
  const OpSample* samples = nullptr;  // at least one
  size_t count = 0;                   // of samples
  OpSample bench;                     // what is timed
  double ulps = 4;  // how far a result in float32 may be from the one in float64, in its ulps

  constexpr OpTest() = default;
  template <size_t N>
  constexpr OpTest(const CustomOp* tested, const OpSample (&all)[N], const OpSample& timed,
                   double bound = 4)
      : op(tested), samples(all), count(N), bench(timed), ulps(bound) {}
};

// The name of the function that WICK_EXPORT_OP_TESTS makes.
constexpr char kOpTestsEntry[] = "wick_op_tests";

// The function's result: the rows, and the sizes that they were compiled with.
struct OpTestsInfo {
  uint32_t abi;                // kCustomOpAbi
  uint32_t test_bytes;         // sizeof(OpTest)
  uint32_t sample_bytes;       // sizeof(OpSample)
  const OpTest* const* tests;  // the rows
  uint64_t count;              // of rows
};
// That function.
using OpTestsEntry = const OpTestsInfo* (*)();

}  // namespace wick

// Use it at namespace scope, once in a file, with the addresses of all rows.
#define WICK_EXPORT_OP_TESTS(...)                                                              \
  extern "C" __attribute__((visibility("default"))) const wick::OpTestsInfo* wick_op_tests() { \
    static constexpr const wick::OpTest* kTests[] = {__VA_ARGS__};                             \
    static constexpr wick::OpTestsInfo kInfo = {wick::kCustomOpAbi, sizeof(wick::OpTest),      \
                                                sizeof(wick::OpSample), kTests,                \
                                                std::size(kTests)};                            \
    return &kInfo;                                                                             \
  }
