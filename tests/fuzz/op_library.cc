// A library of ops whose entry point returns what the fuzzer has given it.
#include "runtime/ops/op_library.h"

namespace {
const wick::OpLibraryInfo* g_info = nullptr;
}

#define WICK_FUZZ_EXPORT extern "C" __attribute__((visibility("default")))
WICK_FUZZ_EXPORT void wick_fuzz_give(const wick::OpLibraryInfo* info) { g_info = info; }
WICK_FUZZ_EXPORT const wick::OpLibraryInfo* wick_op_library() { return g_info; }
