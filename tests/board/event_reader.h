// Reads event files without what writes them: a record's checksums bit by bit, the fields of
// protocol buffers one by one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace wick::test {

inline uint32_t crc32c_by_bits(const std::string& text) {
  uint32_t c = 0xffffffff;
  for (char byte : text) {
    c ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? c >> 1 ^ 0x82f63b78 : c >> 1;
  }
  return ~c;
}

template <class T>
T number_at(const std::string& text, size_t at) {
  if (at > text.size() || text.size() - at < sizeof(T)) throw std::runtime_error("cut short");
  T v;
  std::memcpy(&v, text.data() + at, sizeof(T));
  return v;
}

// The records of a file; throws where one is cut short or a checksum is wrong.
inline std::vector<std::string> records_of(const std::string& file) {
  auto masked = [](const std::string& text) {
    const uint32_t c = crc32c_by_bits(text);
    return (c >> 15 | c << 17) + 0xa282ead8;
  };
  std::vector<std::string> records;
  for (size_t at = 0; at < file.size();) {
    const auto n = number_at<uint64_t>(file, at);
    if (number_at<uint32_t>(file, at + 8) != masked(file.substr(at, 8)))
      throw std::runtime_error("the length's checksum");
    records.push_back(file.substr(at + 12, n));
    if (number_at<uint32_t>(file, at + 12 + n) != masked(records.back()))
      throw std::runtime_error("the record's checksum");
    at += 16 + n;
  }
  return records;
}

// A message's fields by number: integers and reals as 64 bits, the rest as bytes.
struct Field {
  uint64_t bits = 0;
  std::string bytes;
  double real() const { return std::bit_cast<double>(bits); }
};
class Fields {
 public:
  explicit Fields(const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      const uint64_t key = varint(text, at);
      Field f;
      switch (key & 7) {
        case 0: f.bits = varint(text, at); break;
        case 1: f.bits = number_at<uint64_t>(text, at), at += 8; break;
        case 5: f.bits = number_at<uint32_t>(text, at), at += 4; break;
        case 2: {
          const uint64_t n = varint(text, at);
          if (n > text.size() - at) throw std::runtime_error("a field is cut short");
          f.bytes = text.substr(at, n);
          at += n;
          break;
        }
        default: throw std::runtime_error("a form of field that there is not");
      }
      all_[static_cast<int>(key >> 3)].push_back(f);
    }
  }
  bool has(int field) const { return all_.contains(field); }
  // By value, because messages within messages are temporaries.
  std::vector<Field> list(int field) const {
    const auto at = all_.find(field);
    return at == all_.end() ? std::vector<Field>() : at->second;
  }
  // The only one of its number.
  Field one(int field) const {
    const std::vector<Field> found = list(field);
    if (found.size() != 1) throw std::runtime_error("not one field " + std::to_string(field));
    return found[0];
  }
  Fields message(int field) const { return Fields(one(field).bytes); }
  std::string text(int field) const { return one(field).bytes; }
  int64_t integer(int field) const { return static_cast<int64_t>(one(field).bits); }
  double real(int field) const { return one(field).real(); }
  float real32(int field) const {
    return std::bit_cast<float>(static_cast<uint32_t>(one(field).bits));
  }
  std::vector<double> reals(int field) const {  // packed
    std::vector<double> v;
    const std::string packed = text(field);
    for (size_t at = 0; at < packed.size(); at += 8) v.push_back(number_at<double>(packed, at));
    return v;
  }

 private:
  static uint64_t varint(const std::string& text, size_t& at) {
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
      if (at >= text.size() || shift > 63) throw std::runtime_error("a varint is cut short");
      const auto byte = static_cast<uint8_t>(text[at++]);
      v |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return v;
    }
  }
  std::map<int, std::vector<Field>> all_;
};

inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The event files of a folder, by name.
inline std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& e : std::filesystem::directory_iterator(folder)) {
    if (e.path().filename().string().starts_with("events.out.tfevents."))
      files.push_back(e.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The events of the folder's only file, whose first says its version.
inline std::vector<Fields> events_of(const std::string& folder) {
  const std::vector<std::string> files = event_files(folder);
  if (files.size() != 1) throw std::runtime_error("not one event file in " + folder);
  std::vector<Fields> events;
  for (const std::string& record : records_of(contents(files[0]))) events.emplace_back(record);
  EXPECT_EQ(events.at(0).text(3), "brain.Event:2");
  events.erase(events.begin());
  return events;
}

// An event's Summary.Value.
inline Fields value_of(const Fields& event) { return event.message(5).message(1); }

// step -> value of a series of scalars.
inline std::map<int64_t, float> series(const std::vector<Fields>& events, const std::string& tag) {
  std::map<int64_t, float> found;
  for (const Fields& e : events) {
    if (!e.has(5) || value_of(e).text(1) != tag) continue;
    EXPECT_TRUE(found.emplace(e.integer(2), value_of(e).real32(2)).second) << tag;
  }
  return found;
}

}  // namespace wick::test
