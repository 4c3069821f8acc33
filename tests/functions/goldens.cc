#include "tests/functions/goldens.h"
#include "tests/functions/inputs.h"
#include "tests/support/where.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace wick::test {
namespace {

using Json = nlohmann::ordered_json;
using Family = std::map<std::string, Golden>;

Golden parse(const Json& j) {
  Golden g;
  g.digest = j.at("digest").get<std::string>();
  for (const Json& p : j.at("payloads")) {
    auto v = std::make_unique<std::vector<double>>();
    for (const Json& e : p) v->push_back(number_of(e));
    g.payloads.push_back(std::move(v));
  }
  auto payload = [&](const Json& at) -> const std::vector<double>* {
    return at.is_null() ? nullptr : g.payloads.at(at.get<size_t>()).get();
  };
  for (const auto& [dtype, outputs] : j.at("values").items()) {
    for (const Json& o : outputs) {
      Shape shape;
      for (const Json& d : o.at(1)) shape.push_back(d.get<int64_t>());
      g.values[dtype].push_back({o.at(0).get<std::string>(), shape, payload(o.at(2))});
    }
  }
  if (j.contains("shared")) {
    for (const auto& [dtype, outputs] : j.at("shared").items())
      g.shared[dtype] = outputs.get<std::vector<std::vector<size_t>>>();
  }
  if (j.contains("gradient"))
    for (const Json& at : j.at("gradient")) g.gradient.push_back(payload(at));
  return g;
}

Family read(const std::string& family) {
  Family all;
  std::ifstream file(source_dir() + "/tests/functions/goldens/" + family + ".json");
  if (!file) return all;
  const Json lines = Json::parse(file);
  for (const auto& [key, line] : lines.items()) all.emplace(key, parse(line));
  return all;
}

}  // namespace

const Golden* find_golden(const std::string& family, const std::string& key) {
  static std::map<std::string, Family> files;
  auto at = files.find(family);
  if (at == files.end()) at = files.emplace(family, read(family)).first;
  auto golden = at->second.find(key);
  return golden == at->second.end() ? nullptr : &golden->second;
}

}  // namespace wick::test
