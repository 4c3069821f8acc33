// Digests by which two builds of Wick (x86, aarch64 under qemu) are compared bit for bit: a test
// named *Digest* prints one line per result, tests/aarch64/run.sh runs it on both and compares the
// lines.
#pragma once

#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace wick::test {

// FNV-1a over the values' bits, every NaN taken as one.
inline uint64_t digest(const float* values, int64_t count) {
  uint64_t hash = 14695981039346656037u;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = values[i] != values[i] ? 0x7FC00000u : std::bit_cast<uint32_t>(values[i]);
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xFF)) * 1099511628211u;
    }
  }
  return hash;
}

inline void print_digest(const char* name, uint64_t hash) {
  std::printf("DIGEST %s %016" PRIx64 "\n", name, hash);
}

}  // namespace wick::test
