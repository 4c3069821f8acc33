// The few forms of protocol buffers that event files are made of
// (https://protobuf.dev/programming-guides/encoding): a message is a string of fields; internal.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick::board {

// Fields are written in the order of the calls. A field of value 0 or of an empty text is written
// too: readers take it as the default that it is.
class Message {
 public:
  Message& integer(int field, int64_t v) {
    varint(key(field, 0));
    varint(static_cast<uint64_t>(v));
    return *this;
  }
  Message& real(int field, double v) {
    varint(key(field, 1));
    fixed(std::bit_cast<uint64_t>(v), 8);
    return *this;
  }
  Message& real32(int field, float v) {
    varint(key(field, 5));
    fixed(std::bit_cast<uint32_t>(v), 4);
    return *this;
  }
  // A string, bytes, or a message's bytes.
  Message& bytes(int field, std::string_view v) {
    varint(key(field, 2));
    varint(v.size());
    text_ += v;
    return *this;
  }
  Message& message(int field, const Message& m) { return bytes(field, m.text_); }
  Message& reals(int field, const std::vector<double>& values) {  // packed
    varint(key(field, 2));
    varint(values.size() * 8);
    for (double v : values) fixed(std::bit_cast<uint64_t>(v), 8);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  static uint64_t key(int field, int wire) { return static_cast<uint64_t>(field) << 3 | wire; }
  void varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) text_.push_back(static_cast<char>(v | 0x80));
    text_.push_back(static_cast<char>(v));
  }
  void fixed(uint64_t v, int n) {
    for (int i = 0; i < n; ++i) text_.push_back(static_cast<char>(v >> (8 * i)));
  }
  std::string text_;
};

}  // namespace wick::board
