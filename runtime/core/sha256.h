// SHA-256 (FIPS 180-4), for segment digests, provenance and names of weights; nothing here is
// secret.
#pragma once

#include <cstdint>

#include "runtime/core/span.h"

namespace wick {

struct Sha256Text {
  char text[65];  // 64 hexadecimal digits and a zero
};

class Sha256 {
 public:
  // `plain` selects the portable loop also where the CPU has SHA instructions, so that tests cover
  // both.
  explicit Sha256(bool plain = false) : plain_(plain) {}
  void update(Span<const uint8_t> bytes);
  // Both end the message; use a new object for the next one. finish() writes 32 bytes.
  void finish(uint8_t* digest);
  Sha256Text finish_text();

 private:
  void block(const uint8_t* p);

  uint32_t h_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t pending_[64];
  uint64_t total_ = 0;
  [[maybe_unused]] bool plain_;  // read only where the CPU has SHA instructions
};

}  // namespace wick
