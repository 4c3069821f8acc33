// Each malloc of a regular expression's run fails in turn, alone and with all that follow it: RE2
// throws, and the kernel catches that and answers kOutOfMemory. It is a program of its own, because
// it replaces malloc.
#include <cstdio>
#include <iterator>

#include "runtime/kernels/reference/regex_match.h"

// The number of the malloc, counted from now on, that fails; 0: none does.
static long g_fails = 0;
static long g_calls = 0;
static bool g_stays = false;  // so do those behind it

extern "C" {
void* __libc_malloc(size_t);

void* malloc(size_t n) {
  if (g_fails == 0) return __libc_malloc(n);
  ++g_calls;
  return g_calls == g_fails || (g_stays && g_calls > g_fails) ? nullptr : __libc_malloc(n);
}
}

int main() {
  // RE2 remarks on stacks that an exception left full.
  if (freopen("/dev/null", "w", stderr) == nullptr) return 1;
  using wick::StringRef;
  const char text[] = "the quick brown fox, 2026-11-27";
  const char form[] = R"((?:[a-z]+[ ,]+)*(\d{4})-(\d\d|x{3,40})-\d+)";
  const StringRef pattern = {form, sizeof form - 1};
  const StringRef texts[] = {{text, sizeof text - 1}, {text, 5}, {text, 0}};
  uint8_t matched[std::size(texts)] = {};
  long passed = 0, failed = 0, refused = 0;
  const auto expect = [&](bool right, long n) {
    ++(right ? passed : failed);
    if (!right) printf("malloc %ld (%s): not what was expected\n", n, g_stays ? "and on" : "alone");
  };
  for (const bool stays : {false, true}) {
    for (long n = 1;; ++n) {
      g_stays = stays;
      g_calls = 0;
      g_fails = n;
      const wick::Status s = wick::reference::match_whole(pattern, texts, matched);
      g_fails = 0;
      if (g_calls < n) {  // all of them succeeded
        expect(s.ok() && matched[0] == 1 && matched[1] == 0 && matched[2] == 0, n);
        break;
      }
      refused += s.ok() ? 0 : 1;
      expect(s.ok() || s.code() == wick::Code::kOutOfMemory, n);
    }
  }
  expect(refused > 300, refused);
  printf("%ld mallocs refused\n%ld passed, %ld failed\n", refused, passed, failed);
  return failed == 0 ? 0 : 1;
}
