#include "runtime/core/sha256.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <bit>
#include <cstring>

#include "runtime/platform/cpu.h"

namespace wick {
namespace {

// The round constants: fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#if defined(__x86_64__)
#define WICK_SHA_INSTRUCTIONS __attribute__((target("sha,sse4.1")))

// The SHA instructions keep the state as (A, B, E, F) and (C, D, G, H), highest first.
WICK_SHA_INSTRUCTIONS void block_by_instructions(uint32_t* h, const uint8_t* p) {
  const __m128i big_endian = _mm_set_epi64x(0x0C0D0E0F08090A0B, 0x0405060700010203);
  auto load = [](const void* at) WICK_SHA_INSTRUCTIONS {
    return _mm_loadu_si128(static_cast<const __m128i*>(at));
  };
  const __m128i badc = _mm_shuffle_epi32(load(h), 0xB1),
                hgfe = _mm_shuffle_epi32(load(h + 4), 0x1B);
  const __m128i first0 = _mm_alignr_epi8(badc, hgfe, 8),
                second0 = _mm_blend_epi16(hgfe, badc, 0xF0);
  __m128i first = first0, second = second0, m[4];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {  // four rounds each
    __m128i& now = m[i & 3];
    if (i < 4) {
      now = _mm_shuffle_epi8(load(p + 16 * i), big_endian);
    } else {
      const __m128i before = m[(i - 1) & 3];
      now = _mm_add_epi32(_mm_sha256msg1_epu32(now, m[(i - 3) & 3]),
                          _mm_alignr_epi8(before, m[(i - 2) & 3], 4));
      now = _mm_sha256msg2_epu32(now, before);
    }
    const __m128i sum = _mm_add_epi32(now, load(kRound + 4 * i));
    second = _mm_sha256rnds2_epu32(second, first, sum);
    first = _mm_sha256rnds2_epu32(first, second, _mm_shuffle_epi32(sum, 0x0E));
  }
  first = _mm_shuffle_epi32(_mm_add_epi32(first, first0), 0x1B);
  second = _mm_shuffle_epi32(_mm_add_epi32(second, second0), 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(h), _mm_blend_epi16(first, second, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(h + 4), _mm_alignr_epi8(second, first, 8));
}
#endif

}  // namespace

void Sha256::block(const uint8_t* p) {
#if defined(WICK_SHA_INSTRUCTIONS)
  static const bool has = platform::cpu_has_sha();
  if (has && !plain_) return block_by_instructions(h_, p);
#endif
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = uint32_t{p[4 * i]} << 24 | uint32_t{p[4 * i + 1]} << 16 | uint32_t{p[4 * i + 2]} << 8 |
           p[4 * i + 3];
  }
  for (int i = 16; i < 64; ++i) {
    uint32_t a = w[i - 15], b = w[i - 2];
    uint32_t s0 = std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3);
    uint32_t s1 = std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t v[8];
  memcpy(v, h_, sizeof(v));
  for (int i = 0; i < 64; i += 8) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {  // rotate the names, not the values
      auto at = [&](int name) -> uint32_t& { return v[(name - k) & 7]; };
      const uint32_t a = at(0), e = at(4);
      const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const uint32_t t1 = at(7) + s1 + ((e & at(5)) ^ (~e & at(6))) + kRound[i + k] + w[i + k];
      const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      at(3) += t1;
      at(7) = t1 + s0 + ((a & at(1)) ^ (a & at(2)) ^ (at(1) & at(2)));
    }
  }
  for (int i = 0; i < 8; ++i) h_[i] += v[i];
}

void Sha256::update(Span<const uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size();) {
    size_t have = total_ % 64, take = 64 - have;
    if (take > bytes.size() - i) take = bytes.size() - i;
    if (have == 0 && take == 64) {
      block(bytes.data() + i);
    } else {
      memcpy(pending_ + have, bytes.data() + i, take);
      if (have + take == 64) block(pending_);
    }
    total_ += take;
    i += take;
  }
}

void Sha256::finish(uint8_t* digest) {
  uint64_t bits = total_ * 8;
  const uint8_t one = 0x80, zero = 0;
  update({&one, 1});
  while (total_ % 64 != 56) update({&zero, 1});
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(length);
  for (int i = 0; i < 32; ++i) digest[i] = static_cast<uint8_t>(h_[i / 4] >> (24 - 8 * (i % 4)));
}

Sha256Text Sha256::finish_text() {
  uint8_t digest[32];
  finish(digest);
  Sha256Text hex{};
  for (int i = 0; i < 64; ++i)
    hex.text[i] = "0123456789abcdef"[digest[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
  return hex;
}

}  // namespace wick
