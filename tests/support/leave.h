// Ends a child that a test forked at once, without destructors and exit handlers, which are its
// parent's. Its coverage is counted (docs/testing.md).
#pragma once

#include <unistd.h>

// NOLINTNEXTLINE: GCC's name
extern "C" __attribute__((weak)) void __gcov_dump();  // linked where coverage is counted

namespace wick::test {

[[noreturn]] inline void leave(int code) {
  if (__gcov_dump != nullptr) __gcov_dump();
  _exit(code);
}

}  // namespace wick::test
