// JSON as Wick reads and writes it. A file is nobody's friend: what a text may cost is bounded
// before a tree is made of it, a number is taken only within the range that its reader names, and
// every message says the file, the key, the value and what the value must be.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "wick/error.h"

namespace wick {

// "FILE: what is wrong". Who knows the call catches it and adds its name and place.
class JsonError : public Error {
 public:
  using Error::Error;
};

struct JsonLimits {
  size_t bytes = size_t{256} << 20;
  uint64_t values = uint64_t{1} << 23;  // one of three bytes costs some eighty in memory
  size_t depth = 64;                    // nlohmann's dump, copy and comparison recurse
};

// Whether read_json() takes the text, for who makes a tree of another kind of it. Throws JsonError.
void check_json(std::string_view text, const std::string& file, const JsonLimits& limits = {});
// The tree of a whole text, in which no key stands twice in one object. `file` is what messages
// call it. Throws JsonError.
nlohmann::json read_json(std::string_view text, const std::string& file,
                         const JsonLimits& limits = {});

// Of whatever a file holds, what a message may quote: at most 200 bytes, without recursion.
std::string shortened(std::string_view text);
std::string shown(const nlohmann::json& value);

// A value that was read, and where it stands: "last.safetensors: run.epoch". It points into the
// tree.
class JsonPlace {
 public:
  JsonPlace(const nlohmann::json& value, std::string file)
      : value_(&value), file_(std::move(file)) {}

  bool has(const char* key) const { return value_->is_object() && value_->contains(key); }
  JsonPlace at(const char* key) const;
  JsonPlace at(size_t index) const;  // of a list
  size_t size() const;               // of a list

  int64_t integer(int64_t least, int64_t most) const;
  uint64_t count() const;  // 0 to 2^64 - 1
  double number(double least, double most) const;
  bool boolean() const;
  std::string text() const;
  const nlohmann::json& value() const { return *value_; }

  // "FILE: KEY is VALUE; it must be `wanted`"
  [[noreturn]] void refuse(const std::string& wanted) const;

 private:
  JsonPlace(const JsonPlace& parent, const nlohmann::json& value, const std::string& step);

  const nlohmann::json* value_;
  std::string file_, path_;
};

// Whole numbers up to here are exact in every reader of JSON.
constexpr int64_t kMaxJsonCount = int64_t{1} << 53;

// Text that is written as it is told: unlike the destructor of nlohmann's trees, which allocates,
// it fails with an exception where memory ends.
class JsonWriter {
 public:
  JsonWriter& open(char bracket);  // '{' or '['
  JsonWriter& close();
  JsonWriter& key(std::string_view name);
  JsonWriter& raw(std::string_view json);  // a value that is JSON already
  template <class T>
  JsonWriter& value(const T& v) {
    if constexpr (std::is_same_v<T, bool> || std::is_arithmetic_v<T>) {
      return raw(nlohmann::json(v).dump());
    } else {
      return text(v);
    }
  }
  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  template <class List>
  JsonWriter& list(std::string_view name, const List& values) {
    key(name).open('[');
    for (const auto& v : values) value(v);
    return close();
  }
  const std::string& done() const { return out_; }

 private:
  JsonWriter& text(std::string_view v);
  void separate();

  std::string out_, open_;
};

}  // namespace wick
