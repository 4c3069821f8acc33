// Digests by which two builds of Wick (this machine's, another's under its emulator) are compared
// bit for bit: a test (or a program) named *Digest* prints one line per result, and
// tests/targets/rows.sh runs it on both and compares the lines; lines whose name ends in " exact"
// are also compared on targets that promise no bits of floats.
#pragma once

#include <bit>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace wick::test {

// FNV-1a; every NaN is taken as one. Start from kDigestSeed and feed tensor after tensor.
inline constexpr uint64_t kDigestSeed = 14695981039346656037u;

inline uint64_t digest_bytes(const void* data, size_t count, uint64_t hash = kDigestSeed) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < count; ++i) hash = (hash ^ p[i]) * 1099511628211u;
  return hash;
}

inline uint64_t digest(const float* values, int64_t count, uint64_t hash = kDigestSeed) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = values[i] != values[i] ? 0x7FC00000u : std::bit_cast<uint32_t>(values[i]);
    const unsigned char bytes[] = {
        static_cast<unsigned char>(bits), static_cast<unsigned char>(bits >> 8),
        static_cast<unsigned char>(bits >> 16), static_cast<unsigned char>(bits >> 24)};
    hash = digest_bytes(bytes, 4, hash);
  }
  return hash;
}

inline void print_digest(const char* name, uint64_t hash) {
  std::printf("DIGEST %s %016" PRIx64 "\n", name, hash);
}

}  // namespace wick::test
