#include "trainer/checkpoint/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wick {
namespace {

// The fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void Sha256::block(const uint8_t* p) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = uint32_t{p[4 * i]} << 24 | uint32_t{p[4 * i + 1]} << 16 | uint32_t{p[4 * i + 2]} << 8 |
           p[4 * i + 3];
  }
  for (int i = 16; i < 64; ++i) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  uint32_t s[8];
  std::memcpy(s, h_, sizeof(s));
  for (int i = 0; i < 64; ++i) {
    uint32_t e = s[4], a = s[0];
    uint32_t t1 = s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                  ((e & s[5]) ^ (~e & s[6])) + kRound[i] + w[i];
    uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                  ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    std::memmove(s + 1, s, 7 * sizeof(uint32_t));
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int i = 0; i < 8; ++i) h_[i] += s[i];
}

void Sha256::update(const void* bytes, size_t n) {
  const auto* p = static_cast<const uint8_t*>(bytes);
  total_ += n;
  while (n > 0) {
    if (held_ == 0 && n >= 64) {
      block(p);
      p += 64;
      n -= 64;
      continue;
    }
    size_t step = std::min(n, 64 - held_);
    std::memcpy(buffer_ + held_, p, step);
    held_ += step;
    p += step;
    n -= step;
    if (held_ == 64) {
      block(buffer_);
      held_ = 0;
    }
  }
}

std::string Sha256::hex() {
  uint64_t bits = total_ * 8;
  uint8_t pad[72] = {0x80};
  size_t n = (held_ < 56 ? 56 : 120) - held_;
  for (int i = 0; i < 8; ++i)
    pad[n + static_cast<size_t>(i)] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(pad, n + 8);
  std::string out;
  for (uint32_t word : h_) {
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
  }
  return out;
}

std::string sha256_hex(const void* bytes, size_t n) {
  Sha256 sha;
  sha.update(bytes, n);
  return sha.hex();
}

}  // namespace wick
