// A run allocates no host memory: neither from the session's allocator nor from malloc or new. What
// a driver allocates within its functions does not count.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/vk/api.h"
#include "runtime/exec/session.h"
#include "tests/program/program_builder.h"
#include "tests/vulkan/device.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define WICK_MALLOC_IS_TAKEN 1
#else
#define WICK_MALLOC_IS_TAKEN 0
#endif

namespace {
// Per thread: a driver's own threads are not counted.
thread_local int inside_driver = 0;
thread_local bool counting = false;
thread_local int64_t taken = 0;
}  // namespace

#if !WICK_MALLOC_IS_TAKEN
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
static void count() {
  if (counting && inside_driver == 0) ++taken;
}
void* malloc(size_t n) { return count(), __libc_malloc(n); }
void* calloc(size_t n, size_t size) { return count(), __libc_calloc(n, size); }
void* realloc(void* p, size_t n) { return count(), __libc_realloc(p, n); }
void* memalign(size_t align, size_t n) { return count(), __libc_memalign(align, n); }
void* aligned_alloc(size_t align, size_t n) { return count(), __libc_memalign(align, n); }
int posix_memalign(void** p, size_t align, size_t n) {
  count();
  *p = __libc_memalign(align, n);
  return *p == nullptr ? 12 : 0;
}
}
#endif

namespace wick::test {
namespace {

using vulkan::Api;
Api real;

struct Inside {
  Inside() { ++inside_driver; }
  ~Inside() { --inside_driver; }
};

template <class F, F Api::*kMember>
struct Marked;
template <class R, class... Args, R (*Api::*kMember)(Args...)>
struct Marked<R (*)(Args...), kMember> {
  static R call(Args... args) {
    Inside inside;
    return (real.*kMember)(args...);
  }
  static void put(Api& api) {
    if (api.*kMember == nullptr || api.*kMember == call) return;
    real.*kMember = api.*kMember;
    api.*kMember = call;
  }
};

void mark_driver(Api& api) {
#define X(name) Marked<PFN_vk##name, &Api::name>::put(api);
  WICK_VK_GLOBAL_FUNCTIONS(X)
  WICK_VK_INSTANCE_FUNCTIONS(X)
  WICK_VK_DEVICE_FUNCTIONS(X)
  WICK_VK_OPTIONAL_DEVICE_FUNCTIONS(X)
#undef X
}

// Vulkan, the CPU in between, indices that are checked.
std::vector<uint8_t> program_bytes() {
  ProgramBuilder p;
  auto i = p.value("i", DType::kI64, {6});
  auto table = p.constant<float>("table", {9, 16}, std::vector<float>(144, 0.5f));
  auto w = p.constant<float>("w", {10, 16}, std::vector<float>(160, 0.25f));
  auto x = p.value("x", DType::kF32, {6, 16});
  auto s = p.value("s", DType::kF32, {6, 16});
  auto l = p.value("l", DType::kF32, {6, 10});
  auto y = p.value("y", DType::kF32, {6, 10});
  p.node(OpId::kGather, {table, i}, {x}, AxisAttrs{0}, "gather");
  p.node(OpId::kSinh, {x}, {s}, NoAttrs{}, "cpu");
  p.node(OpId::kLinear, {s, w}, {l}, NoAttrs{}, "linear");
  p.node(OpId::kSoftmax, {l}, {y}, AxisAttrs{-1}, "softmax");
  p.entry("main", {i}, {y});
  return p.finish();
}

TEST(VulkanAllocations, ARunTakesNone) {
  WICK_NEED_DEVICE();
  if (WICK_MALLOC_IS_TAKEN) GTEST_SKIP() << "malloc is a sanitizer's";
  auto file = program_bytes();
  auto bytes = aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  ASSERT_TRUE(program.ok()) << program.status().message();
  for (bool staging : {false, true}) {
    for (bool timeline : {true, false}) {
      VulkanOptions vulkan;
      vulkan.force_staging = staging;
      vulkan.timeline = timeline;
      vulkan.intercept = mark_driver;
      auto backend = VulkanBackend::create(default_allocator(), vulkan);
      ASSERT_TRUE(backend.ok()) << backend.status().message();
      SessionOptions options;
      options.backend = backend->get();
      auto session = Session::create(**program, options);
      ASSERT_TRUE(session.ok()) << session.status().message();
      int64_t indices[6] = {0, 8, -1, 3, 3, 5};
      TensorView in(indices, DType::kI64, {6}), out;
      Status s = (*session)->run({&in, 1}, {&out, 1});
      ASSERT_TRUE(s.ok()) << s.message();
      taken = 0;
      counting = true;
      for (int round = 0; round < 3 && s.ok(); ++round) {
        out = TensorView();
        s = (*session)->run({&in, 1}, {&out, 1});
        if (s.ok()) s = (*session)->start({&in, 1});
        out = TensorView();
        if (s.ok()) s = (*session)->finish({&out, 1});
      }
      counting = false;
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(taken, 0);
      EXPECT_STREQ((*session)->left_backend(), "");
    }
  }
}

// The count counts.
TEST(VulkanAllocations, AllocationsAreSeen) {
  if (WICK_MALLOC_IS_TAKEN) GTEST_SKIP() << "malloc is a sanitizer's";
  taken = 0;
  counting = true;
  auto* volatile a = new int(1);
  void* volatile b = std::malloc(3);
  void* c = default_allocator().allocate(100, 64);
  counting = false;
  EXPECT_GE(taken, 3);
  delete a;
  std::free(b);
  default_allocator().deallocate(c, 100, 64);
}

}  // namespace
}  // namespace wick::test
