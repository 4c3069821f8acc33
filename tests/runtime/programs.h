// Small programs built by hand, and the functions that open them.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "runtime/kernels/simd.h"
#include "tests/program/program_builder.h"
#include "wick/runtime.h"

namespace wick::test {

struct Loaded {
  AlignedBytes bytes{nullptr, {0}};
  Owned<Program> program;
};

inline Loaded load(const std::vector<uint8_t>& file) {
  Loaded l;
  l.bytes = aligned_copy(file);
  auto r = Program::load(Span<const uint8_t>(l.bytes.get(), file.size()));
  EXPECT_TRUE(r.ok()) << r.status().message();
  if (r.ok()) l.program = std::move(*r);
  return l;
}

// Returns whether the vectors that sessions use here promise the reference's bits of floats.
inline bool vectors_promise_bits() {
  const int64_t all = simd_targets();
  return simd_target_has_fma(all & -all);
}
constexpr char kNoBits[] = "this machine's vectors promise no bits of floats";

inline Owned<Session> open(const Program& program, const SessionOptions& options = {}) {
  auto r = Session::create(program, options);
  EXPECT_TRUE(r.ok()) << r.status().message();
  return r.ok() ? std::move(*r) : Owned<Session>();
}

// relu(x W + b) with a symbolic batch, flattened and back: a matmul, an alias, in-place steps.
inline std::vector<uint8_t> mlp() {
  ProgramBuilder p;
  p.symbol("batch", 1, 64);
  auto x = p.value("x", DType::kF32, {kSym, 3});
  auto w = p.constant<float>("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  auto b = p.constant<float>("b", {2}, {-30, 0.5f});
  auto shape = p.constant<int64_t>("shape", {1}, {-1});
  auto h = p.value("h", DType::kF32, {kSym, 2});
  auto s = p.value("s", DType::kF32, {kSym, 2});
  auto r = p.value("r", DType::kF32, {kSym, 2});
  auto y = p.value("y", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  p.node(OpId::kMatMul, {x, w}, {h}, NoAttrs{}, "mm");
  p.node(OpId::kAdd, {h, b}, {s}, NoAttrs{}, "bias");
  p.node(OpId::kRelu, {s}, {r}, NoAttrs{}, "act");
  p.node(OpId::kReshape, {r, shape}, {y}, ReshapeAttrs{}, "flat");
  p.entry("main", {x}, {y, r});
  p.label("cat");
  p.label("dog");
  p.metadata("author", "me");
  return p.finish();
}

// Fails the n-th allocation (from 0; -1: none), counts what is alive, and the most bytes that ever
// were.
class CountingAllocator final : public Allocator {
 public:
  explicit CountingAllocator(int64_t fail_at = -1) : fail_at_(fail_at) {}
  void* allocate(size_t bytes, size_t align) override {
    if (calls++ == fail_at_) return nullptr;
    void* p = default_allocator().allocate(bytes, align);
    if (p == nullptr) return p;
    ++alive;
    held += bytes;
    if (held > peak) peak = held;
    return p;
  }
  void deallocate(void* p, size_t bytes, size_t align) override {
    if (p == nullptr) return;
    --alive;
    held -= bytes;
    default_allocator().deallocate(p, bytes, align);
  }
  int64_t calls = 0, alive = 0;
  size_t held = 0, peak = 0;

 private:
  int64_t fail_at_;
};

// Loads the file, opens a session and calls run(session), with the first allocation failing, then
// the second ... until all goes well: each a Status, and nothing leaks. Returns how many failed.
template <class F>
int64_t with_each_allocation_failing(const std::vector<uint8_t>& file, int threads, const F& run) {
  auto bytes = aligned_copy(file);
  for (int64_t n = 0; n < 1000; ++n) {
    CountingAllocator allocator(n);
    auto all = [&]() -> Status {
      LoadOptions load_options;
      load_options.allocator = &allocator;
      WICK_ASSIGN(auto program,
                  Program::load(Span<const uint8_t>(bytes.get(), file.size()), load_options));
      SessionOptions options;
      options.allocator = &allocator;
      options.threads = threads;
      WICK_ASSIGN(auto session, Session::create(*program, options));
      return run(*session);
    };
    const Status s = all();
    EXPECT_EQ(allocator.alive, 0) << "allocation " << n;
    if (s.ok()) return n;
    EXPECT_EQ(s.code(), Code::kOutOfMemory) << n << ": " << s.message();
  }
  ADD_FAILURE() << "a thousand allocations, and no end";
  return 1000;
}

}  // namespace wick::test
