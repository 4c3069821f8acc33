#include "tools/wick/quantize/quantize_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/lib/text.h"
#include "tools/wick/quantize/quantize_data.h"

namespace wick::tool {

using nlohmann::json;
using quantize::Budget;
using quantize::Choice;
using quantize::Mixed;
using quantize::MixedPoint;
using quantize::Trial;
using quantize::Width;

std::optional<int64_t> size_from(const std::string& text) {
  struct Unit {
    const char* name;
    int64_t bytes;
  };
  constexpr Unit kUnits[] = {{"", 1},
                             {"B", 1},
                             {"KB", 1000},
                             {"KiB", int64_t{1} << 10},
                             {"MB", 1000000},
                             {"MiB", int64_t{1} << 20},
                             {"GB", 1000000000},
                             {"GiB", int64_t{1} << 30}};
  size_t end = 0;
  double number = 0;
  bool dot = false;
  double place = 1;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '.' && !dot) {
      dot = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    number = number * 10 + (c - '0');
    if (dot) place *= 10;
  }
  for (const Unit& unit : kUnits) {
    if (text.substr(end) != unit.name) continue;
    const double bytes = std::floor(number / place * static_cast<double>(unit.bytes));
    if (!(bytes >= 1 && bytes < 0x1p62)) return std::nullopt;
    return static_cast<int64_t>(bytes);
  }
  return std::nullopt;
}

json tried_json(const Choice& choice) {
  json list = json::array();
  for (const Trial& t : choice.tried) {
    list.push_back({{"ranges", t.text()},
                    {"observer", observer_name(t.activations.kind)},
                    {"weights", observer_name(t.weights)},
                    {"bias_correction", t.bias_correction},
                    {"equalize", t.equalize},
                    {"gptq", t.gptq},
                    {"sqnr_db", decibels_json(t.sqnr_db)},
                    {"accuracy", t.score ? json(*t.score) : json()}});
  }
  return {{"trials", list}, {"best", choice.best}};
}

json mixed_json(const Mixed& mixed, const Budget& budget) {
  json doc = {{"max_bytes", budget.max_bytes ? json(*budget.max_bytes) : json()},
              {"max_drop", budget.max_drop ? json(100 * *budget.max_drop) : json()},
              {"met", mixed.met},
              {"best", mixed.best},
              {"layers", json::array()},
              {"models", json::array()}};
  for (const quantize::LayerCost& layer : mixed.layers) {
    json alone = json::object();
    for (const auto& [width, db] : layer.alone) alone[width_name(width)] = decibels_json(db);
    doc["layers"].push_back({{"node", layer.node},
                             {"op", layer.op},
                             {"elements", layer.elements},
                             {"width", width_name(layer.width)},
                             {"alone_db", alone}});
  }
  for (const MixedPoint& p : mixed.points) {
    json widths = json::object();
    for (const auto& [node, width] : p.widths) {
      json& count = widths[width_name(width)];
      count = count.is_null() ? 1 : count.get<int>() + 1;
    }
    doc["models"].push_back({{"bytes", p.bytes},
                             {"sqnr_db", decibels_json(p.sqnr_db)},
                             {"drop", p.drop ? number_json(100 * *p.drop) : json()},
                             {"fits", p.fits},
                             {"layers", widths}});
  }
  return doc;
}

std::string tried_text(const Choice& choice) {
  const auto least =
      std::min_element(choice.tried.begin(), choice.tried.end(),
                       [](const Trial& a, const Trial& b) { return a.sqnr_db < b.sqnr_db; });
  const Trial& best = choice.tried[choice.best];
  std::string text = fmt::format("ranges: {}: {:.2f} dB", best.text(), best.sqnr_db);
  if (best.score) text += fmt::format(", accuracy {:.2f} %", 100 * *best.score);
  return text + fmt::format(", the {} of {} that were tried (the least has {:.2f} dB)\n",
                            best.gptq ? "last" : "best", choice.tried.size(), least->sqnr_db);
}

std::string mixed_text(const Mixed& mixed, const Budget& budget) {
  const MixedPoint& best = mixed.points[mixed.best];
  std::string widths;
  for (const Width w : {Width::kInt4, Width::kInt8, Width::kF16, Width::kF32}) {
    const auto n = std::count_if(mixed.layers.begin(), mixed.layers.end(),
                                 [&](const quantize::LayerCost& l) { return l.width == w; });
    if (n > 0) widths += fmt::format("{}{} {}", widths.empty() ? "" : ", ", n, width_name(w));
  }
  std::string asked;
  if (budget.max_bytes) asked += fmt::format("{} bytes", *budget.max_bytes);
  if (budget.max_drop) {
    asked += fmt::format("{}{:.2f} points lost", asked.empty() ? "" : ", ", 100 * *budget.max_drop);
  }
  std::string text =
      fmt::format("budget of {}: {} {} bytes", asked,
                  best.fits ? "met by" : "NOT met; the best that was found takes", best.bytes);
  if (best.drop) text += fmt::format(" and {:.2f} points lost", 100 * *best.drop);
  const std::string made = counted(static_cast<int64_t>(mixed.points.size()), "model");
  return text + fmt::format(", {:.2f} dB ({} made)\nwidths: {}\n", best.sqnr_db, made,
                            widths.empty() ? "no layer has a choice" : widths);
}

}  // namespace wick::tool
