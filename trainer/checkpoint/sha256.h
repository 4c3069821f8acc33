// SHA-256 (FIPS 180-4), for naming weights; nothing here is secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace wick {

class Sha256 {
 public:
  void update(const void* bytes, size_t n);
  std::string hex();  // ends the message; the object is spent

 private:
  void block(const uint8_t* p);

  uint32_t h_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t buffer_[64];
  size_t held_ = 0;
  uint64_t total_ = 0;
};

std::string sha256_hex(const void* bytes, size_t n);

}  // namespace wick
