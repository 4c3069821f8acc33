#include "exporter/program/lzma_writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "runtime/program/lzma.h"

namespace wick::lzma {
namespace {

constexpr size_t kMaxMatch = 273;
constexpr int kMostTried = 256;  // earlier places that are looked at for one match
constexpr uint32_t kHashBits = 16;

class RangeEncoder {
 public:
  std::vector<uint8_t> out;

  void bit(uint16_t* probability, uint32_t b) {
    const uint32_t bound = (range_ >> kProbabilityBits) * *probability;
    if (b == 0) {
      range_ = bound;
      *probability = static_cast<uint16_t>(
          *probability + (((1U << kProbabilityBits) - *probability) >> kAdaptBits));
    } else {
      low_ += bound;
      range_ -= bound;
      *probability = static_cast<uint16_t>(*probability - (*probability >> kAdaptBits));
    }
    while (range_ < kTop) range_ <<= 8, shift();
  }
  void direct(uint32_t value, uint32_t count) {
    for (uint32_t i = count; i-- > 0;) {
      range_ >>= 1;
      if ((value >> i & 1) != 0) low_ += range_;
      while (range_ < kTop) range_ <<= 8, shift();
    }
  }
  void tree(uint16_t* probabilities, uint32_t bits, uint32_t value) {
    uint32_t m = 1;
    for (uint32_t i = bits; i-- > 0;) {
      const uint32_t b = value >> i & 1;
      bit(probabilities + m, b);
      m = m << 1 | b;
    }
  }
  void reverse_tree(uint16_t* probabilities, uint32_t bits, uint32_t value) {
    uint32_t m = 1;
    for (uint32_t i = 0; i < bits; ++i) {
      const uint32_t b = value >> i & 1;
      bit(probabilities + m, b);
      m = m << 1 | b;
    }
  }
  void flush() {
    for (int i = 0; i < 5; ++i) shift();
  }

 private:
  // A byte that a carry may still change is held back, with the bytes of 255 behind it.
  void shift() {
    if (low_ < 0xFF000000U || low_ > 0xFFFFFFFFU) {
      const auto carry = static_cast<uint8_t>(low_ >> 32);
      for (uint8_t byte = held_; pending_ > 0; --pending_, byte = 0xFF)
        out.push_back(static_cast<uint8_t>(byte + carry));
      held_ = static_cast<uint8_t>(low_ >> 24);
    }
    ++pending_;
    low_ = (low_ & 0x00FFFFFFU) << 8;
  }

  uint64_t low_ = 0, pending_ = 1;
  uint32_t range_ = 0xFFFFFFFF;
  uint8_t held_ = 0;
};

struct Match {
  size_t length = 0;
  uint32_t distance = 0;  // minus 1
};

class Encoder {
 public:
  explicit Encoder(Span<const uint8_t> from)
      : from_(from), m_(std::make_unique<Model>()), before_(from.size()) {
    forget(m_.get());
    latest_.fill(-1);
    latest_pair_.fill(-1);
  }

  std::vector<uint8_t> run() {
    Match found = longest(0);
    while (at_ < from_.size()) {
      const Match here = found;
      const auto [repeat, which] = longest_repeat(at_);
      // A repeat costs fewer bits than another match that is hardly longer.
      const bool far = here.distance > (1U << 9), farther = here.distance > (1U << 15);
      if (repeat >= kMinMatch && repeat + (farther ? 3 : far ? 2 : 1) >= here.length) {
        put_repeat(which, repeat);
        found = advance(repeat);
        continue;
      }
      if (worth(here)) {
        const Match next = at_ + 1 < from_.size() ? peek() : Match();
        const bool later = next.length > here.length + 1 ||
                           (next.length == here.length + 1 && next.distance >> 7 <= here.distance);
        if (!(worth(next) && later)) {
          put_match(here);
          found = advance(here.length);
          continue;
        }
      }
      if (repeat_of_one()) {
        put_short_repeat();
      } else {
        put_literal();
      }
      found = advance(1);
    }
    range_.flush();
    return std::move(range_.out);
  }

 private:
  static bool worth(const Match& m) {
    return m.length > 3 || (m.length == 3 && m.distance < (1U << 14)) ||
           (m.length == 2 && m.distance < (1U << 7));
  }

  size_t pair(size_t at) const { return from_[at] | from_[at + 1] << 8U; }
  size_t hash(size_t at) const {
    const uint32_t three = from_[at] | from_[at + 1] << 8U | from_[at + 2] << 16U;
    return (three * 2654435761U) >> (32 - kHashBits);
  }
  // Notes the place as the latest that begins with these two bytes, and in the chain of places that
  // begin with these three: numbers share two bytes with thousands of others.
  void note(size_t at) {
    if (at + 2 > from_.size()) return;
    latest_pair_[pair(at)] = static_cast<int64_t>(at);
    if (at + 3 > from_.size()) return;
    int64_t& head = latest_[hash(at)];
    before_[at] = head;
    head = static_cast<int64_t>(at);
  }
  size_t equal(size_t a, size_t b, size_t most) const {
    size_t n = 0;
    while (n < most && from_[a + n] == from_[b + n]) ++n;
    return n;
  }
  Match longest(size_t at) const {
    Match best;
    const size_t most = std::min(kMaxMatch, from_.size() - at);
    if (most < 2) return best;
    if (const int64_t near = latest_pair_[pair(at)]; near >= 0) {
      const auto place = static_cast<size_t>(near);
      best = {equal(place, at, most), static_cast<uint32_t>(at - place - 1)};
    }
    if (most < 3 || best.length == most) return best;
    int tried = 0;
    for (int64_t p = latest_[hash(at)]; p >= 0 && tried < kMostTried;
         p = before_[static_cast<size_t>(p)], ++tried) {
      const auto place = static_cast<size_t>(p);
      // Most of them end before the byte that would make them longer.
      if (from_[place + best.length] != from_[at + best.length]) continue;
      const size_t length = equal(place, at, most);
      // A longer match that is much farther away is not worth its distance.
      const auto distance = static_cast<uint32_t>(at - place - 1);
      if (length < 3 || length <= best.length) continue;
      if (length == best.length + 1 && best.length >= 2 && distance >> 7 > best.distance) continue;
      best = {length, distance};
      if (length == most) break;
    }
    return best;
  }
  // The match at the next place, which is not in the chains' reach yet.
  Match peek() {
    note(at_);
    noted_ = at_ + 1;
    return longest(at_ + 1);
  }
  std::pair<size_t, int> longest_repeat(size_t at) const {
    std::pair<size_t, int> best{0, 0};
    const size_t most = std::min(kMaxMatch, from_.size() - at);
    for (int i = 0; i < 4; ++i) {
      if (last_[i] >= at) continue;
      const size_t length = equal(at - last_[i] - 1, at, most);
      if (length > best.first) best = {length, i};
    }
    return best;
  }
  bool repeat_of_one() const { return last_[0] < at_ && from_[at_ - last_[0] - 1] == from_[at_]; }

  Match advance(size_t by) {
    for (const size_t end = at_ + by; noted_ < end; ++noted_) note(noted_);
    at_ += by;
    return at_ < from_.size() ? longest(at_) : Match();
  }

  // -- symbols
  uint32_t place() const { return static_cast<uint32_t>(at_) & ((1U << kPlaceBits) - 1); }

  void put_literal() {
    range_.bit(&m_->match[state_][place()], 0);
    uint16_t* p = m_->literal + 0x300 * (at_ & ((1U << kWordBits) - 1));
    const uint32_t byte = from_[at_];
    uint32_t symbol = 1;
    int shift = 8;
    if (state_ >= 7) {
      uint32_t matched = last_[0] < at_ ? from_[at_ - last_[0] - 1] : 0;
      while (shift > 0) {
        const uint32_t expected = matched >> 7 & 1, b = byte >> --shift & 1;
        matched <<= 1;
        range_.bit(p + ((1 + expected) << 8) + symbol, b);
        symbol = symbol << 1 | b;
        if (expected != b) break;
      }
    }
    while (shift > 0) {
      const uint32_t b = byte >> --shift & 1;
      range_.bit(p + symbol, b);
      symbol = symbol << 1 | b;
    }
    state_ = after_literal(state_);
  }

  void put_short_repeat() {
    range_.bit(&m_->match[state_][place()], 1);
    range_.bit(&m_->repeat[state_], 1);
    range_.bit(&m_->repeat0[state_], 0);
    range_.bit(&m_->repeat0_long[state_][place()], 0);
    state_ = after_short(state_);
  }

  void put_repeat(int which, size_t length) {
    range_.bit(&m_->match[state_][place()], 1);
    range_.bit(&m_->repeat[state_], 1);
    if (which == 0) {
      range_.bit(&m_->repeat0[state_], 0);
      range_.bit(&m_->repeat0_long[state_][place()], 1);
    } else {
      range_.bit(&m_->repeat0[state_], 1);
      range_.bit(&m_->repeat1[state_], which == 1 ? 0 : 1);
      if (which > 1) range_.bit(&m_->repeat2[state_], which == 2 ? 0 : 1);
    }
    put_length(&m_->repeat_length, length);
    std::rotate(last_.begin(), last_.begin() + which, last_.begin() + which + 1);
    state_ = after_repeat(state_);
  }

  void put_match(const Match& m) {
    range_.bit(&m_->match[state_][place()], 1);
    range_.bit(&m_->repeat[state_], 0);
    put_length(&m_->length, m.length);
    put_distance(m.length - kMinMatch, m.distance);
    std::rotate(last_.begin(), last_.end() - 1, last_.end());
    last_[0] = m.distance;
    state_ = after_match(state_);
  }

  void put_length(LengthModel* m, size_t length) {
    const auto n = static_cast<uint32_t>(length - kMinMatch);
    range_.bit(&m->choice[0], n < 8 ? 0 : 1);
    if (n < 8) return range_.tree(m->low[place()], 3, n);
    range_.bit(&m->choice[1], n < 16 ? 0 : 1);
    if (n < 16) return range_.tree(m->middle[place()], 3, n - 8);
    range_.tree(m->high, 8, n - 16);
  }

  void put_distance(size_t length, uint32_t distance) {
    uint32_t slot = distance, bits = 0;
    if (distance >= kFirstDirect) {
      const auto top = static_cast<uint32_t>(std::bit_width(distance) - 1);
      slot = top << 1 | (distance >> (top - 1) & 1);
      bits = (slot >> 1) - 1;
    }
    range_.tree(m_->slot[std::min<size_t>(length, kLengthSlots - 1)], 6, slot);
    if (slot < kFirstDirect) return;
    const uint32_t base = (2 | (slot & 1)) << bits;
    if (slot < kFirstAligned)
      return range_.reverse_tree(m_->near + base - slot, bits, distance - base);
    range_.direct((distance - base) >> kAlignBits, bits - kAlignBits);
    range_.reverse_tree(m_->align, kAlignBits, (distance - base) & ((1U << kAlignBits) - 1));
  }

  Span<const uint8_t> from_;
  RangeEncoder range_;
  std::unique_ptr<Model> m_;
  std::array<int64_t, 1 << 16> latest_pair_;    // by two bytes: the last place; -1: none
  std::array<int64_t, 1 << kHashBits> latest_;  // by the hash of three
  std::vector<int64_t> before_;                 // by place: the one before with that hash
  size_t at_ = 0, noted_ = 0;
  uint32_t state_ = 0;
  std::array<uint32_t, 4> last_ = {0, 0, 0, 0};  // distances of the last matches, minus 1
};

}  // namespace

std::vector<uint8_t> encode(Span<const uint8_t> bytes) {
  // The encoder is too large for a stack.
  return std::make_unique<Encoder>(bytes)->run();
}

}  // namespace wick::lzma
