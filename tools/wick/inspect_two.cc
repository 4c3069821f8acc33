#include "tools/wick/inspect_two.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/core/utf8.h"
#include "tools/lib/text.h"
#include "tools/wick/command.h"
#include "tools/wick/inspect_document.h"

namespace wick::tool {
namespace {

using nlohmann::json;

json document_at(const std::string& path, bool lower_qdq) {
  ir::LowerReport lowered;
  OpCounts steps;
  const Model model = Model::open_whole(path, {.lower_qdq = lower_qdq, .lowered = &lowered});
  json doc = inspect_document(model, lowered, &steps);
  doc["node_count"] = doc["nodes"].size();
  return doc;
}

struct Line {
  std::string what, a, b;
};

std::string value_text(const json& value) {
  return value.is_null() ? "-" : value.is_string() ? value.get<std::string>() : value.dump();
}

json member(const json& object, const std::string& key) {
  return object.is_object() && object.contains(key) ? object[key] : json();
}

// Adds a line for each key that either has.
void add_members(const json& a, const json& b, const std::string& before,
                 std::vector<Line>* lines) {
  std::set<std::string> keys;
  for (const json* object : {&a, &b}) {
    if (!object->is_object()) continue;
    for (const auto& [key, value] : object->items()) keys.insert(key);
  }
  for (const std::string& key : keys)
    lines->push_back({before + key, value_text(member(a, key)), value_text(member(b, key))});
}

void add_ports(const json& a, const json& b, const char* what, std::vector<Line>* lines) {
  const auto port = [](const json& list, size_t i) {
    if (i >= list.size()) return std::string("-");
    return fmt::format("{} {}{}", value_text(list[i]["name"]), value_text(list[i]["dtype"]),
                       value_text(list[i]["shape"]));
  };
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i)
    lines->push_back({fmt::format("{} {}", what, i), port(a, i), port(b, i)});
}

std::vector<Line> lines_of(const json& a, const json& b) {
  std::vector<Line> lines;
  for (const char* key : {"file_bytes", "weight_bytes", "constant_elements", "growing"})
    lines.push_back({key, value_text(a[key]), value_text(b[key])});
  // What follows is of the first ones.
  if (a.contains("entries") || b.contains("entries"))
    lines.push_back(
        {"entries", value_text(member(a, "entries")), value_text(member(b, "entries"))});
  add_ports(a["inputs"], b["inputs"], "input", &lines);
  add_ports(a["outputs"], b["outputs"], "output", &lines);
  lines.push_back({"nodes", value_text(a["node_count"]), value_text(b["node_count"])});
  add_members(a["ops"], b["ops"], "  ", &lines);
  lines.push_back(
      {"labels", fmt::format("{}", a["labels"].size()), fmt::format("{}", b["labels"].size())});
  add_members(a["provenance"], b["provenance"], "", &lines);
  add_members(member(a, "metadata"), member(b, "metadata"), "", &lines);
  return lines;
}

// Long texts, as digests are, are cut at a character's end.
std::string cell(const std::string& text) {
  constexpr size_t kWidest = 40;
  const std::string line = one_line(text);
  if (line.size() <= kWidest) return line;
  size_t end = 0;
  while (end < kWidest - 3) end += code_point(line.data() + end, line.size() - end).bytes;
  return line.substr(0, end) + "...";
}

}  // namespace

void inspect_two(const InspectTwo& c) {
  const json a = document_at(c.a, c.lower_qdq), b = document_at(c.b, c.lower_qdq);
  const std::vector<Line> lines = lines_of(a, b);
  auto different = json::array();
  size_t what = 0, first = c.a.size();
  for (const Line& l : lines) {
    what = std::max(what, l.what.size());
    first = std::max(first, cell(l.a).size());
    if (l.a == l.b) continue;
    const size_t word = std::min(l.what.find_first_not_of(' '), l.what.size());
    different.push_back({{"what", l.what.substr(word)}, {"a", l.a}, {"b", l.b}});
  }
  if (c.json) return print_json({{"a", a}, {"b", b}, {"different", different}});
  fmt::print("  {:<{}} {:<{}} {}\n", "", what, one_line(c.a), first, one_line(c.b));
  for (const Line& l : lines)
    fmt::print("{} {:<{}} {:<{}} {}\n", l.a == l.b ? ' ' : '*', one_line(l.what), what, cell(l.a),
               first, cell(l.b));
  fmt::print("{} of {} lines differ\n", different.size(), lines.size());
}

}  // namespace wick::tool
