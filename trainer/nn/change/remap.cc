#include "trainer/nn/change/remap.h"

#include <map>
#include <regex>

namespace wick::nn {

NamedTensors remap_keys(const NamedTensors& state, const std::vector<KeyRule>& rules, Where where) {
  std::vector<std::regex> patterns;
  for (const KeyRule& r : rules) {
    try {
      patterns.emplace_back(r.pattern);
    } catch (const std::regex_error& e) {
      throw_error("remap_keys", "'" + r.pattern + "' is no regular expression: " + e.what(), where);
    }
  }
  NamedTensors renamed;
  std::map<std::string, std::string> from;
  std::string problems;
  for (const auto& [name, t] : state) {
    std::string now = name;
    for (size_t i = 0; i < rules.size(); ++i)
      now = std::regex_replace(now, patterns[i], rules[i].replacement);
    if (now.empty()) continue;
    auto [it, fresh] = from.emplace(now, name);
    if (!fresh) {
      problems.append("\n  ").append(it->second).append(" and ").append(name);
      problems.append(" become ").append(now);
    }
    renamed.emplace_back(now, t);
  }
  if (!problems.empty()) throw_error("remap_keys", "names collide:" + problems, where);
  return renamed;
}

}  // namespace wick::nn
