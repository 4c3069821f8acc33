// The one door for JSON of files: checkpoints, tokenizers, reports, lists. What comes through is
// nested no deeper than a walk over it may recurse, and its numbers are asked for with the range
// that they may have, so that no number of a file becomes another one in silence.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "wick/error.h"

namespace wick {

constexpr int kMaxJsonDepth = 64;
constexpr int64_t kMostCount = int64_t{1} << 53;  // of steps, epochs, items: a double holds it

// Brackets that are open at one time, outside of strings; of text that is no JSON, some number.
inline int json_depth(std::string_view text) {
  int depth = 0, most = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      most = std::max(most, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return most;
}

// Discarded (is_discarded()) where the text is no JSON or nested deeper than kMaxJsonDepth.
template <class Json = nlohmann::json>
Json json_or_discarded(std::string_view text) {
  if (json_depth(text) > kMaxJsonDepth) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

// The same or an Error: "WHAT: damaged: why".
template <class Json = nlohmann::json>
Json json_of(std::string_view text, const std::string& what) {
  if (json_depth(text) > kMaxJsonDepth) {
    throw Error(what + ": damaged: nested deeper than " + std::to_string(kMaxJsonDepth) +
                " levels");
  }
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    throw Error(what + ": damaged: " + std::string(e.what()).substr(0, 200));
  }
}

// A value as an error shows it: cut before it is made, as a file may hold any amount.
template <class Json>
std::string short_text(const Json& value) {
  constexpr size_t kMost = 200;
  const auto one = [](const Json& v) {
    if (v.is_structured()) return std::string(v.is_array() ? "[...]" : "{...}");
    if (v.is_string() && v.template get_ref<const std::string&>().size() > kMost)
      return '"' + v.template get_ref<const std::string&>().substr(0, kMost) + "...\"";
    return v.dump(-1, ' ', true, Json::error_handler_t::replace);
  };
  if (!value.is_array()) return one(value);
  std::string text = "[";
  for (const Json& v : value) {
    text += (text.size() > 1 ? "," : "") + one(v);
    if (text.size() > kMost) return text.substr(0, kMost) + "...]";
  }
  return text + "]";
}

// A number of an object, within [least, most]. Error: "WHAT: KEY is VALUE, must be ...".
template <class Json>
int64_t whole_number(const Json& object, const char* key, int64_t least, int64_t most,
                     const std::string& what) {
  const Json& value = object.at(key);
  const bool fits = value.is_number_unsigned()
                        ? value.template get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                        : value.is_number_integer();
  if (fits && value.template get<int64_t>() >= least && value.template get<int64_t>() <= most)
    return value.template get<int64_t>();
  throw Error(what + ": " + key + " is " + short_text(value) + ", must be a whole number from " +
              std::to_string(least) + " to " + std::to_string(most));
}
template <class Json>
double finite_number(const Json& value, const char* key, const std::string& what) {
  if (value.is_number() && std::isfinite(value.template get<double>()))
    return value.template get<double>();
  throw Error(what + ": " + key + " is " + short_text(value) + ", must be a finite number");
}

}  // namespace wick
