// SHA-256 (FIPS 180-4), for segment digests and provenance.
#pragma once

#include <cstdint>

#include "runtime/core/span.h"

namespace wick {

class Sha256 {
 public:
  void update(Span<const uint8_t> bytes);
  // Ends the message; writes 32 bytes. Start a new object for the next one.
  void finish(uint8_t* digest);

 private:
  void block(const uint8_t* p);

  uint32_t h_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t pending_[64];
  uint64_t total_ = 0;
};

}  // namespace wick
