// For a C++ library without exceptions (WASI's): a test that throws ends its program.
#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" {

void* __cxa_allocate_exception(size_t) {
  std::fputs("an exception is thrown, which this machine does not have\n", stderr);
  std::abort();
}

void __cxa_throw(void*, void*, void (*)(void*)) { std::abort(); }

}  // extern "C"
