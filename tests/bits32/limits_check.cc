// limits_check: sizes that 32 bits cannot hold are errors, in a file, for a session and for the C
// interface, and so are kernels that need more memory than there are addresses. Everything else
// runs: on a 64-bit machine all of it. Prints what differs from that; exits with 0 if nothing does.
#include <cstdio>
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernels/kernel.h"
#include "tests/program/program_builder.h"
#include "wick/runtime.h"
#include "wick/wick.h"

namespace wick::test {
namespace {

constexpr bool kNarrow = sizeof(size_t) < 8;
int failed = 0;

void expect(bool holds, const char* what, const char* said = "") {
  if (holds) return;
  std::printf("FAILED: %s (%s)\n", what, said);
  ++failed;
}

// Shapes whose byte counts are small numbers modulo 2^32.
void shapes() {
  const struct {
    Shape shape;
    DType dtype;
    bool fits;
  } rows[] = {
      {{1 << 26}, DType::kF32, true},
      {{1 << 26}, DType::kU8, true},
      {{(1 << 26) + 1}, DType::kU8, !kNarrow},
      {{1 << 27}, DType::kF32, !kNarrow},        // 2^32 bits
      {{(1 << 30) + 4}, DType::kF32, !kNarrow},  // 2^32 + 16 bytes
      {{1 << 16, (1 << 16) + 1}, DType::kU8, !kNarrow},
      {{int64_t{1} << 32, 2}, DType::kI8, !kNarrow},
      {{int64_t{1} << 40, 0}, DType::kF32, !kNarrow},  // nothing is in it, but strides are made
      {{(1 << 26) + 8}, DType::kU4, !kNarrow},
  };
  for (const auto& row : rows) {
    auto bytes = checked_bytes(row.shape, dtype_bits(row.dtype));
    expect(bytes.ok() == row.fits, to_text(row.shape).text,
           bytes.ok() ? "" : bytes.status().message());
    if (!bytes.ok()) continue;
    expect(TensorView(nullptr, row.dtype, row.shape).nbytes() == *bytes, "nbytes");
  }
}

// A value of a size that is 16 modulo 2^32 bytes, from an input that is small.
void session() {
  ProgramBuilder p;
  p.symbol("n", 1, int64_t{1} << 40);
  const auto x = p.value("x", DType::kF32, {1});
  const auto to = p.constant<int64_t>("to", {1}, {(int64_t{1} << 30) + 4});
  const auto y = p.value("y", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  p.node(OpId::kExpand, {x, to}, {y});
  p.entry("main", {x}, {y});
  const std::vector<uint8_t> file = p.finish();
  const AlignedBytes bytes = aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  expect(program.ok(), "load", program.status().message());
  if (!program.ok()) return;
  SessionOptions options;
  options.threads = 1;
  options.max_ram = 1 << 20;
  auto session = Session::create(**program, options);
  expect(!session.ok(), "a session of 4 GiB in 1 MiB");
  if (session.ok()) return;
  const char* said = session.status().message();
  expect(strstr(said, kNarrow ? "too large for a 32-bit machine" : "max_ram") != nullptr, "create",
         said);
}

// The file says that it has 4 GiB more than it has.
void header() {
  ProgramBuilder p;
  const auto x = p.value("x", DType::kF32, {1}), y = p.value("y", DType::kF32, {1});
  const auto c = p.constant<float>("c", {1}, {2});
  p.node(OpId::kAdd, {x, c}, {y});
  p.entry("main", {x}, {y});
  const std::vector<uint8_t> file = p.finish();
  for (size_t at = 0; at + 8 <= 64; at += 8) {
    std::vector<uint8_t> other = file;
    uint64_t word;
    memcpy(&word, other.data() + at, 8);
    word += uint64_t{1} << 32;
    memcpy(other.data() + at, &word, 8);
    const AlignedBytes bytes = aligned_copy(other);
    auto program = Program::load(Span<const uint8_t>(bytes.get(), other.size()));
    expect(!program.ok(), "a header whose sizes are right modulo 2^32");
  }
}

void c_interface() {
  float x[4] = {};
  wick_tensor big = {x, WICK_FLOAT32, 1, {(int64_t{1} << 30) + 4}};
  wick_tensor many[3] = {big, big, big};
  size_t bytes = 0;
  const int code = wick_pack_bytes(many, 3, &bytes);
  expect(kNarrow ? code != WICK_OK : code == WICK_OK && bytes > uint64_t{3} << 31,
         "wick_pack_bytes", wick_last_error());
}

// Checks a caller whose float arithmetic flushes to zero, if the register can be set so.
void float_mode() {
  volatile float small = 0x1p-126f, half = 0.5f;
#if defined(__arm__)
  uint32_t saved, flush;
  asm volatile("vmrs %0, fpscr" : "=r"(saved));
  flush = saved | 1u << 24;
  asm volatile("vmsr fpscr, %0" : : "r"(flush));
  expect(small * half == 0.0f, "subnormals are flushed before");
#endif
  {
    FloatModeScope scope;
    expect(small * half == 0x1p-127f, "subnormals are kept");
  }
#if defined(__arm__)
  expect(small * half == 0.0f, "subnormals are flushed behind");
  asm volatile("vmsr fpscr, %0" : : "r"(saved));
#endif
}

// Room for sorting is 24 bytes an element, a thread's room is each one's.
void scratch() {
  expect(byte_count(uint64_t{1} << 20) == size_t{1} << 20, "byte_count");
  if (kNarrow) expect(byte_count((uint64_t{1} << 32) + 64) > SIZE_MAX / 2, "byte_count");
}

}  // namespace
}  // namespace wick::test

int main() {
  using namespace wick::test;
  shapes();
  session();
  header();
  c_interface();
  scratch();
  float_mode();
  if (failed == 0) std::puts("limits hold");
  return failed == 0 ? 0 : 1;
}
