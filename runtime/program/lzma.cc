#include "runtime/program/lzma.h"

namespace wick::lzma {
namespace {

// Reads bits by their probabilities. Beyond the stream's end it reads zeros and remembers that.
class RangeDecoder {
 public:
  explicit RangeDecoder(Span<const uint8_t> from) : from_(from) {
    for (int i = 0; i < 5; ++i) {
      const uint8_t b = next();
      if (i == 0) sound_ = b == 0;
      code_ = code_ << 8 | b;
    }
  }
  // Returns whether the stream was long enough, and ends where the last bit was.
  bool finished() const { return sound_ && code_ == 0; }
  bool sound() const { return sound_; }
  size_t read() const { return at_; }

  uint32_t bit(uint16_t* probability) {
    const uint32_t bound = (range_ >> kProbabilityBits) * *probability;
    uint32_t b = 0;
    if (code_ < bound) {
      range_ = bound;
      *probability = static_cast<uint16_t>(
          *probability + (((1U << kProbabilityBits) - *probability) >> kAdaptBits));
    } else {
      range_ -= bound;
      code_ -= bound;
      *probability = static_cast<uint16_t>(*probability - (*probability >> kAdaptBits));
      b = 1;
    }
    normalize();
    return b;
  }

  uint32_t direct(uint32_t count) {
    uint32_t bits = 0;
    for (; count > 0; --count) {
      range_ >>= 1;
      const uint32_t b = code_ >= range_ ? 1 : 0;
      if (b != 0) code_ -= range_;
      normalize();
      bits = bits << 1 | b;
    }
    return bits;
  }

  // From the highest bit down.
  uint32_t tree(uint16_t* probabilities, uint32_t bits) {
    uint32_t m = 1;
    for (uint32_t i = 0; i < bits; ++i) m = m << 1 | bit(probabilities + m);
    return m - (1U << bits);
  }
  // From the lowest bit up.
  uint32_t reverse_tree(uint16_t* probabilities, uint32_t bits) {
    uint32_t m = 1, value = 0;
    for (uint32_t i = 0; i < bits; ++i) {
      const uint32_t b = bit(probabilities + m);
      m = m << 1 | b;
      value |= b << i;
    }
    return value;
  }

 private:
  uint8_t next() {
    if (at_ < from_.size()) return from_[at_++];
    sound_ = false;
    return 0;
  }
  void normalize() {
    if (range_ >= kTop) return;
    range_ <<= 8;
    code_ = code_ << 8 | next();
  }

  Span<const uint8_t> from_;
  size_t at_ = 0;
  bool sound_ = true;
  uint32_t range_ = 0xFFFFFFFF, code_ = 0;
};

class Decoder {
 public:
  Decoder(Span<const uint8_t> from, Span<uint8_t> to, Model* model)
      : bits_(from), to_(to), m_(*model) {}

  Result<size_t> run() {
    while (at_ < to_.size()) {
      if (!step() || !bits_.sound()) return bad();
    }
    if (!bits_.finished()) return bad();
    return bits_.read();
  }

 private:
  static Status bad() {
    return Status(Code::kInvalidProgram, "the compressed table is no sound LZMA stream");
  }

  bool step() {
    const uint32_t place = static_cast<uint32_t>(at_) & ((1U << kPlaceBits) - 1);
    if (bits_.bit(&m_.match[state_][place]) == 0) {
      literal();
      return true;
    }
    uint32_t length = 0;
    if (bits_.bit(&m_.repeat[state_]) == 0) {
      length = read_length(&m_.length, place);
      last_[3] = last_[2], last_[2] = last_[1], last_[1] = last_[0];
      last_[0] = read_distance(length);
      state_ = after_match(state_);
    } else {
      if (bits_.bit(&m_.repeat0[state_]) == 0) {
        if (bits_.bit(&m_.repeat0_long[state_][place]) == 0) {
          state_ = after_short(state_);
          return copy(1);
        }
      } else {
        uint32_t distance = last_[1];
        if (bits_.bit(&m_.repeat1[state_]) != 0) {
          distance = last_[2];
          if (bits_.bit(&m_.repeat2[state_]) != 0) {
            distance = last_[3];
            last_[3] = last_[2];
          }
          last_[2] = last_[1];
        }
        last_[1] = last_[0];
        last_[0] = distance;
      }
      length = read_length(&m_.repeat_length, place);
      state_ = after_repeat(state_);
    }
    return copy(length + kMinMatch);
  }

  void literal() {
    uint16_t* p = m_.literal + 0x300 * (at_ & ((1U << kWordBits) - 1));
    uint32_t symbol = 1;
    if (state_ >= 7) {  // behind a match: the byte that would have continued it is a context
      uint32_t matched = last_[0] < at_ ? to_[at_ - last_[0] - 1] : 0;
      do {
        const uint32_t expected = matched >> 7 & 1;
        matched <<= 1;
        const uint32_t b = bits_.bit(p + ((1 + expected) << 8) + symbol);
        symbol = symbol << 1 | b;
        if (expected != b) break;
      } while (symbol < 0x100);
    }
    while (symbol < 0x100) symbol = symbol << 1 | bits_.bit(p + symbol);
    to_[at_++] = static_cast<uint8_t>(symbol);
    state_ = after_literal(state_);
  }

  uint32_t read_length(LengthModel* m, uint32_t place) {
    if (bits_.bit(&m->choice[0]) == 0) return bits_.tree(m->low[place], 3);
    if (bits_.bit(&m->choice[1]) == 0) return 8 + bits_.tree(m->middle[place], 3);
    return 16 + bits_.tree(m->high, 8);
  }

  uint32_t read_distance(uint32_t length) {
    const uint32_t slot = bits_.tree(m_.slot[length < kLengthSlots ? length : kLengthSlots - 1], 6);
    if (slot < kFirstDirect) return slot;
    const uint32_t bits = (slot >> 1) - 1;
    uint32_t distance = (2 | (slot & 1)) << bits;
    if (slot < kFirstAligned) return distance + bits_.reverse_tree(m_.near + distance - slot, bits);
    distance += bits_.direct(bits - kAlignBits) << kAlignBits;
    return distance + bits_.reverse_tree(m_.align, kAlignBits);
  }

  bool copy(uint32_t length) {
    if (last_[0] >= at_ || length > to_.size() - at_) return false;
    for (const size_t end = at_ + length; at_ < end; ++at_) to_[at_] = to_[at_ - last_[0] - 1];
    return true;
  }

  RangeDecoder bits_;
  Span<uint8_t> to_;
  Model& m_;
  size_t at_ = 0;
  uint32_t state_ = 0;
  uint32_t last_[4] = {0, 0, 0, 0};  // distances of the last matches, minus 1
};

}  // namespace

Result<size_t> decode(Span<const uint8_t> from, Span<uint8_t> to, Allocator& allocator) {
  void* memory = allocator.allocate(sizeof(Model), alignof(Model));
  if (memory == nullptr)
    return error(Code::kOutOfMemory, "cannot allocate %zu bytes to decode the table",
                 sizeof(Model));
  auto* model = static_cast<Model*>(memory);
  forget(model);
  Result<size_t> read = Decoder(from, to, model).run();
  allocator.deallocate(memory, sizeof(Model), alignof(Model));
  return read;
}

}  // namespace wick::lzma
