#include "tools/wick/quantize/quantize_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace wick::tool {
namespace {

using nlohmann::json;
using quantize::ErrorNumbers;
using quantize::LayerReport;

json number(double v) { return std::isfinite(v) ? json(v) : json(); }
json decibels(double db) { return db >= quantize::kExactDb ? json() : number(db); }

json error_json(const ErrorNumbers& e) {
  return {{"sqnr_db", decibels(e.sqnr_db)},
          {"channel_db", decibels(e.channel_db)},
          {"cosine", number(e.cosine)},
          {"max_error", number(e.max_error)}};
}

json layer_json(const LayerReport& l) {
  json doc = {{"node", l.node},
              {"op", l.op},
              {"module", l.module},
              {"quantized", l.quantized},
              {"reason", l.reason},
              {"own", error_json(l.own)},
              {"accumulated", error_json(l.accumulated)},
              {"weights_alone", error_json(l.of_weights)},
              {"result_alone", error_json(l.of_result)},
              {"growth_db", number(l.growth_db)},
              {"effect", l.effect ? error_json(*l.effect) : json()},
              {"cause", l.cause()},
              {"min", number(l.seen.lo)},
              {"max", number(l.seen.hi)},
              {"mean", number(l.mean)},
              {"deviation", number(l.deviation)},
              {"result", nullptr},
              {"weight", nullptr}};
  if (l.result) {
    doc["result"] = {{"dtype", dtype_name(l.result->dtype)},  {"scale", number(l.result->scale[0])},
                     {"zero_point", l.result->zero_point[0]}, {"low", number(l.representable.lo)},
                     {"high", number(l.representable.hi)},    {"saturated", number(l.saturated)}};
  }
  if (l.weight) {
    doc["weight"] = {
        {"dtype", dtype_name(l.weight->dtype)},   {"scales", l.weight->scales},
        {"least_scale", number(l.weight->least)}, {"greatest_scale", number(l.weight->most)},
        {"sqnr_db", decibels(l.weight->sqnr_db)}, {"channel_db", decibels(l.weight->channel_db)}};
  }
  return doc;
}

}  // namespace

json number_json(double v) { return number(v); }
json decibels_json(double db) { return decibels(db); }

json comparison_json(const quantize::Comparison& c) {
  json doc = {{"batches", c.batches},     {"layers", json::array()},
              {"outputs", json::array()}, {"sensitivity", c.by_sensitivity},
              {"first_growth", nullptr},  {"notes", c.notes}};
  for (const LayerReport& l : c.layers) doc["layers"].push_back(layer_json(l));
  for (const quantize::OutputReport& o : c.outputs) {
    doc["outputs"].push_back(error_json(o.error));
    doc["outputs"].back()["name"] = o.name;
    doc["outputs"].back()["min"] = number(o.seen.lo);
    doc["outputs"].back()["max"] = number(o.seen.hi);
  }
  if (c.first_growth) doc["first_growth"] = *c.first_growth;
  return doc;
}

std::string weights_text(const quantize::Recipe& r) {
  if (r.mode == quantize::Mode::kF16) return dtype_name(DType::kF16);
  return dtype_name(r.mode == quantize::Mode::kBF16 ? DType::kBF16 : r.weight);
}

json recipe_json(const quantize::Recipe& r) {
  json doc = {{"mode", mode_name(r.mode)}, {"weights", weights_text(r)}, {"skip", r.skip}};
  if (r.mode == quantize::Mode::kF16 || r.mode == quantize::Mode::kBF16) return doc;
  if (r.mode == quantize::Mode::kWeightOnly) {
    doc["block"] = r.block_size;
    doc["gptq"] = r.gptq;
    return doc;
  }
  doc["per_channel"] = r.per_channel;
  if (r.mode != quantize::Mode::kQat) doc["gptq"] = r.gptq;
  if (r.mode == quantize::Mode::kDynamic) return doc;
  doc["activations"] = dtype_name(r.activation);
  doc["observer"] = observer_name(r.activation_observer.kind);
  if (r.mode == quantize::Mode::kQat) return doc;
  doc["equalize"] = r.equalize;
  doc["bias_correction"] = r.bias_correction;
  return doc;
}

namespace {

// Returns the kind of a reason that names another node: only that node's op is kept, so that one
// line holds all such.
std::string kind_of(const std::string& reason) {
  for (const std::string text : {"its input is float: ", "its result is read as float by "}) {
    if (reason.starts_with(text)) return reason.substr(0, reason.find(' ', text.size()));
  }
  return reason;
}

}  // namespace

std::string stayed_text(const std::vector<ir::StayedFloat>& stayed, const std::string& what) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> groups;
  for (const ir::StayedFloat& s : stayed) groups[{s.op, kind_of(s.reason)}].push_back(s.name);
  std::string text = fmt::format("float: {} {}{}{}\n", stayed.size(), what,
                                 stayed.size() == 1 ? "" : "s", stayed.empty() ? "" : ", because");
  for (const auto& [kind, names] : groups) {
    std::string list;
    for (size_t i = 0; i < std::min<size_t>(3, names.size()); ++i)
      list += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > 3) list += fmt::format(" and {} more", names.size() - 3);
    text += fmt::format("  {} {}: {}\n", kind.first, list, kind.second);
  }
  return text;
}

}  // namespace wick::tool
