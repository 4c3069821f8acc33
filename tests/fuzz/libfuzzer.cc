// The readers of files as a target of libFuzzer, which counts edges: `WICK_FUZZ_FORMAT=npy
// fuzz_edges CORPUS` reads one format of formats.cc. Configure with clang and -DWICK_LIBFUZZER=ON.
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fuzz/formats.h"
#include "wick/error.h"

namespace {

const wick::fuzz::Format& format() {
  static const wick::fuzz::Format& chosen = []() -> const wick::fuzz::Format& {
    const char* name = getenv("WICK_FUZZ_FORMAT");
    for (const auto& f : wick::fuzz::formats()) {
      if (name != nullptr && strcmp(f.name, name) == 0) return f;
    }
    fprintf(stderr, "WICK_FUZZ_FORMAT names no format of tests/fuzz/formats.cc\n");
    exit(2);
  }();
  return chosen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    format().read(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const wick::Error&) {
    return 0;
  }
  return 0;
}
