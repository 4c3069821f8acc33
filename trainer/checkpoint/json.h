// The JSON reader and writer. Files are not trusted: the cost of a text is bounded before a tree is
// built from it, a number is accepted only within the range that its reader states, and every
// message names the file, the key, the value and what the value must be.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "wick/error.h"

namespace wick {

// Message: "FILE: what is wrong". Callers that know the public function catch it and add its name
// and line.
class JsonError : public Error {
 public:
  using Error::Error;
};

struct JsonLimits {
  size_t bytes = size_t{256} << 20;
  uint64_t values = uint64_t{1} << 23;  // each needs some eighty bytes in memory
  size_t depth = 64;                    // nlohmann's dump, copy and comparison are recursive
};

// Checks that read_json() would accept the text, for callers that build another kind of tree from
// it. Throws JsonError.
void check_json(std::string_view text, const std::string& file, const JsonLimits& limits = {});
// Returns the tree of a whole text; a key that occurs twice in an object is an error. `file` is the
// name for messages. Throws JsonError.
nlohmann::json read_json(std::string_view text, const std::string& file,
                         const JsonLimits& limits = {});

// Return text or a value from a file in a form that a message may quote: at most 200 bytes, without
// recursion.
std::string shortened(std::string_view text);
std::string shown(const nlohmann::json& value);

// A value that was read, and its position: "last.safetensors: run.epoch". It refers to the tree,
// which must outlive it.
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

  // Throws "FILE: KEY is VALUE; it must be `wanted`".
  [[noreturn]] void refuse(const std::string& wanted) const;

 private:
  JsonPlace(const JsonPlace& parent, const nlohmann::json& value, const std::string& step);

  const nlohmann::json* value_;
  std::string file_, path_;
};

// Integers up to this are exact in every JSON reader.
constexpr int64_t kMaxJsonCount = int64_t{1} << 53;

// Writes JSON text piece by piece. Unlike nlohmann's trees, whose destructor allocates, it fails
// with an exception when memory runs out.
class JsonWriter {
 public:
  JsonWriter& open(char bracket);  // '{' or '['
  JsonWriter& close();
  JsonWriter& key(std::string_view name);
  JsonWriter& raw(std::string_view json);  // appends a value that is JSON already
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
