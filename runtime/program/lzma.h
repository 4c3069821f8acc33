// Decodes LZMA streams (the format of 7-Zip's lzma SDK, in the public domain) without a header or
// an end mark, with the fixed properties lc = 0, lp = 2, pb = 2, which suit tables of 32-bit words.
#pragma once

#include "runtime/core/allocator.h"
#include "runtime/core/span.h"
#include "runtime/core/status.h"

namespace wick::lzma {

// Fills `to` from a stream of that many bytes, and returns how many bytes of `from` the stream has.
// It takes time in proportion to `to`, and 10 KB from the allocator while it runs. Fails with
// kInvalidProgram for what is no such stream; `to` then holds anything.
Result<size_t> decode(Span<const uint8_t> from, Span<uint8_t> to, Allocator& allocator);

// The numbers of the format that its writer shares.
inline constexpr uint32_t kPlaceBits = 2, kWordBits = 2;  // pb, lp; lc is 0
inline constexpr uint32_t kStates = 12, kMinMatch = 2, kLengthSlots = 4;
inline constexpr uint32_t kAlignBits = 4, kFirstDirect = 4, kFirstAligned = 14;
inline constexpr uint32_t kNear = 1 << (kFirstAligned / 2);  // distances below have contexts
inline constexpr uint32_t kProbabilityBits = 11, kAdaptBits = 5;
inline constexpr uint32_t kTop = 1 << 24;
inline constexpr uint16_t kEven = 1
                                  << (kProbabilityBits - 1);  // of a bit of which nothing is known

// The state: what the last symbols were.
constexpr uint32_t after_literal(uint32_t s) { return s < 4 ? 0 : s < 10 ? s - 3 : s - 6; }
constexpr uint32_t after_match(uint32_t s) { return s < 7 ? 7 : 10; }
constexpr uint32_t after_repeat(uint32_t s) { return s < 7 ? 8 : 11; }
constexpr uint32_t after_short(uint32_t s) { return s < 7 ? 9 : 11; }

struct LengthModel {
  uint16_t choice[2];
  uint16_t low[1 << kPlaceBits][8], middle[1 << kPlaceBits][8], high[256];
};

// The probabilities of a 0, each of kProbabilityBits.
struct Model {
  uint16_t literal[0x300 << kWordBits];
  uint16_t match[kStates][1 << kPlaceBits], repeat[kStates], repeat0[kStates],
      repeat0_long[kStates][1 << kPlaceBits], repeat1[kStates], repeat2[kStates];
  uint16_t slot[kLengthSlots][64], near[kNear + 1 - kFirstAligned], align[1 << kAlignBits];
  LengthModel length, repeat_length;
};
// Makes every bit as likely as not.
inline void forget(Model* m) {
  auto* p = reinterpret_cast<uint16_t*>(m);
  for (size_t i = 0; i < sizeof(Model) / sizeof(uint16_t); ++i) p[i] = kEven;
}
}  // namespace wick::lzma
