#include "trainer/checkpoint/json.h"

#include <fmt/core.h>

#include <cmath>
#include <unordered_set>
#include <vector>

#include "runtime/core/ledger.h"

namespace wick {
namespace {

using Json = nlohmann::json;

// The parser does not recurse. This refuses what the parser would build, before it is built.
class Check : public nlohmann::json_sax<Json> {
 public:
  explicit Check(const JsonLimits& limits) : limits_(limits), ledger_({.visits = limits.values}) {}
  std::string problem;

  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  // Of two equal keys one parser keeps the last, another reader the first.
  bool key(string_t& name) override {
    Level& level = open_.back();
    if (level.keys.insert(name).second) {
      level.key = name;
      return count();
    }
    problem = "'" + shortened(name) + "' appears twice" +
              (open_.size() > 1 ? " in '" + shortened(open_[open_.size() - 2].key) + "'" : "");
    return false;
  }
  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception& e) override {
    const std::string_view text =
        e.what();  // text: "[json.exception.parse_error.101] parse error at ..."
    const size_t bracket = text.find("] ");
    problem = shortened(bracket == std::string_view::npos ? text : text.substr(bracket + 2));
    return false;
  }

 private:
  struct Level {
    std::unordered_set<std::string> keys;
    std::string key;  // the key whose value is being read
  };

  bool open() {
    if (open_.size() == limits_.depth) {
      problem = fmt::format("nested too deep: over {} levels", limits_.depth);
      return false;
    }
    open_.emplace_back();
    return count();
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool count() {
    if (ledger_.visit(1).ok()) return true;
    problem = fmt::format("over {} values", limits_.values);
    return false;
  }

  const JsonLimits& limits_;
  Ledger ledger_;
  std::vector<Level> open_;
};

}  // namespace

void check_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  const auto fail = [&](const std::string& why) {
    throw JsonError(file + ": " + why, Code::kInvalidArgument);
  };
  if (text.size() > limits.bytes) {
    fail(fmt::format("{} bytes of JSON, of which at most {} are read", text.size(), limits.bytes));
  }
  Check check(limits);
  if (!Json::sax_parse(text, &check)) fail(check.problem);
}

// Parses a second time, without a callback: with one, the parser scans all earlier values at the
// end of each.
Json read_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  check_json(text, file, limits);
  return Json::parse(text);
}

std::string shortened(std::string_view text) {
  constexpr size_t kMost = 200;
  if (text.size() <= kMost) return std::string(text);
  size_t end = kMost - 3;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;  // between characters
  return std::string(text.substr(0, end)) + "...";
}

std::string shown(const Json& value) {
  if (value.is_object()) return fmt::format("an object of {} keys", value.size());
  if (value.is_array()) return fmt::format("a list of {} values", value.size());
  const bool text = value.is_string();
  return (text ? Json(shortened(value.get_ref<const std::string&>())) : value).dump();
}

JsonPlace::JsonPlace(const JsonPlace& parent, const Json& value, const std::string& step)
    : value_(&value), file_(parent.file_), path_(parent.path_ + step) {}

JsonPlace JsonPlace::at(const char* key) const {
  if (!value_->is_object()) refuse(std::string("an object with the key ") + key);
  const auto found = value_->find(key);
  const std::string step = (path_.empty() ? "" : ".") + std::string(key);
  if (found == value_->end()) throw JsonError(file_ + ": " + path_ + step + " is missing");
  return JsonPlace(*this, *found, step);
}

JsonPlace JsonPlace::at(size_t index) const {
  if (index >= size()) refuse(fmt::format("a list of at least {} values", index + 1));
  return JsonPlace(*this, (*value_)[index], fmt::format("[{}]", index));
}

size_t JsonPlace::size() const {
  if (!value_->is_array()) refuse("a list");
  return value_->size();
}

int64_t JsonPlace::integer(int64_t least, int64_t most) const {
  // nlohmann's own conversions turn 2^63 into a negative number and truncate fractions.
  const bool fits = value_->is_number_integer() &&
                    (!value_->is_number_unsigned() || value_->get<uint64_t>() <= INT64_MAX);
  const int64_t v = fits ? value_->get<int64_t>() : 0;
  if (!fits || v < least || v > most) {
    refuse(fmt::format("a whole number from {} to {}", least, most));
  }
  return v;
}

uint64_t JsonPlace::count() const {
  if (!value_->is_number_unsigned()) refuse("a whole number from 0 to 2^64 - 1");
  return value_->get<uint64_t>();
}

double JsonPlace::number(double least, double most) const {
  const double v = value_->is_number() ? value_->get<double>() : std::nan("");
  if (!(v >= least && v <= most)) refuse(fmt::format("a number from {} to {}", least, most));
  return v;
}

bool JsonPlace::boolean() const {
  if (!value_->is_boolean()) refuse("true or false");
  return value_->get<bool>();
}

std::string JsonPlace::text() const {
  if (!value_->is_string()) refuse("a text");
  return value_->get<std::string>();
}

void JsonPlace::refuse(const std::string& wanted) const {
  throw JsonError(file_ + ": " + (path_.empty() ? "the document" : path_) + " is " +
                  shown(*value_) + "; it must be " + wanted);
}

void JsonWriter::separate() {
  if (!out_.empty() && out_.back() != '{' && out_.back() != '[' && out_.back() != ':') out_ += ',';
}
JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  open_ += bracket == '{' ? '}' : ']';
  return *this;
}
JsonWriter& JsonWriter::close() {
  out_ += open_.back();
  open_.pop_back();
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
  text(name);
  out_ += ':';
  return *this;
}
JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}
JsonWriter& JsonWriter::text(std::string_view v) {
  std::string quoted;
  try {
    quoted = Json(v).dump();
  } catch (const Json::exception&) {
    throw JsonError("a name or a text that is no UTF-8 cannot be written as JSON: '" +
                    shortened(v) + "'");
  }
  return raw(quoted);
}

}  // namespace wick
