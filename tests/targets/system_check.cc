// Prints which parts of a system a build has and lacks: run on each target that can be run here,
// linked on all.
#include <cfenv>
#include <cstdio>
#include <cstring>

#include "runtime/core/thread_pool.h"
#include "runtime/platform/system.h"
#include "wick/runtime.h"

namespace {

int g_failed = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  printf("FAILED: %s\n", what);
  ++g_failed;
}

void check_files() {
  const auto program = wick::Program::load("no/such/model.wick");
  const wick::Status s = program.status();
  expect(!program.ok(), "a file that is not there was loaded");
  if (wick::platform::kHasFiles) {
    expect(s.code() == wick::Code::kNotFound, "a file that is not there is not found");
  } else {
    expect(s.code() == wick::Code::kUnsupported, "a build without files has none");
    expect(!WICK_ERROR_TEXTS || strstr(s.message(), "load the model from memory") != nullptr,
           "it says what to do");
  }
}

void check_memory() {
  alignas(64) static const uint8_t bytes[256] = {};
  const auto program = wick::Program::load({bytes, sizeof(bytes)});
  expect(program.status().code() == wick::Code::kInvalidProgram, "zeros are no program");
}

void check_threads() {
  const auto create = [](int n) { return wick::ThreadPool::create(wick::default_allocator(), n); };
  constexpr bool kTwo = wick::platform::kHasThreads;
  if (!kTwo) expect(create(2).status().code() == wick::Code::kUnsupported, "no threads");
  auto pool = create(kTwo ? 2 : 1);
  expect(pool.ok(), "a pool of threads");
  if (!pool.ok()) return;
  static int sums[1000];
  (*pool)->run(1000, [](int64_t task, int) { sums[task] += static_cast<int>(task); });
  int sum = 0;
  for (int n : sums) sum += n;
  expect(sum == 499500, "each task is run once");
  wick::ThreadPool::destroy(*pool);
}

void check_rounding() {
#if defined(FE_UPWARD) && !defined(__wasm__)
  if (fesetround(FE_UPWARD) != 0) return;
  volatile float third = 3.0f;
  {
    const wick::FloatModeScope scope;
    expect(1.0f / third == 0.333333343f, "to nearest");
  }
  expect(fegetround() == FE_UPWARD, "the caller's rounding is restored");
  fesetround(FE_TONEAREST);
#endif
}

// Vectors whose mode is another than the scalars': a process may start with it on.
void check_vectors() {
#if defined(__ALTIVEC__)
  using Floats = float __attribute__((vector_size(16)));
  const Floats tiny = {0x1p-130f}, one = {1.0f};
  Floats sum;
  {
    const wick::FloatModeScope scope;
    asm volatile("vmaddfp %0, %1, %2, %3" : "=v"(sum) : "v"(tiny), "v"(one), "v"(tiny));
  }
  expect(sum[0] == 0x1p-129f, "vectors keep subnormals");
#endif
}

}  // namespace

int main() {
  check_files();
  check_memory();
  check_threads();
  check_rounding();
  check_vectors();
  if (g_failed == 0)
    printf("files %d, threads %d, libraries %d\n", wick::platform::kHasFiles,
           wick::platform::kHasThreads, wick::platform::kHasLibraries);
  return g_failed == 0 ? 0 : 1;
}
