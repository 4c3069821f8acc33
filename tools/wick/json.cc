#include "tools/wick/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "graph/ir/packed.h"
#include "runtime/core/int_at.h"
#include "tools/lib/arrays.h"
#include "tools/wick/command.h"

namespace wick::tool {

namespace {

std::atomic<bool> g_json_printed{false};

}  // namespace

bool json_printed() { return g_json_printed; }

void print_json(const nlohmann::json& document) {
  g_json_printed = true;
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::json preview_json(const HostTensor& tensor) {
  auto values = nlohmann::json::array();
  if (is_container(tensor.dtype())) {
    for (const HostTensor& t : unpack(tensor).elements) values.push_back(preview_json(t));
    return values;
  }
  const HostTensor parts = complex_parts(tensor);
  if (parts.dtype() != tensor.dtype()) {
    for (int64_t i = 0; i < std::min(tensor.numel(), kPreview); ++i)
      values.push_back({element_as_double(parts, 2 * i), element_as_double(parts, 2 * i + 1)});
    return values;
  }
  for (int64_t i = 0; i < std::min(tensor.numel(), kPreview); ++i) {
    if (tensor.dtype() == DType::kString)
      values.push_back(tensor.string_at(i));
    else if (tensor.dtype() == DType::kU64)
      values.push_back(tensor.as<uint64_t>()[i]);
    else if (is_int(tensor.dtype()))
      values.push_back(int_at(tensor.view(), i));
    else
      values.push_back(element_as_double(tensor, i));
  }
  return values;
}

nlohmann::json json_of(const Difference& d) {
  return {{"comparable", d.comparable}, {"bits_equal", d.bits}, {"max_abs", d.max_abs},
          {"max_rel", d.max_rel},       {"max_ulp", d.max_ulp}, {"worst_element", d.worst}};
}

nlohmann::json json_of(const NodeTimes& times, size_t runs) {
  auto list = nlohmann::json::array();
  for (const NodeTimes::Step* s : times.in_order()) {
    list.push_back({{"op", s->op},
                    {"node", s->node},
                    {"backend", s->backend},
                    {"kernel", s->kernel},
                    {"times", s->ns.size()},
                    {"ms", s->ms(runs)}});
  }
  return list;
}

nlohmann::json json_of(const RunTimes& times) {
  const TimeFigures wall = times.wall(), cpu = times.cpu();
  return {{"min_ms", wall.least},  {"p50_ms", wall.p50},    {"p95_ms", wall.p95},
          {"p99_ms", wall.p99},    {"cpu_ms", cpu.mean},    {"cpu_min_ms", cpu.least},
          {"cpu_p50_ms", cpu.p50}, {"cpu_p95_ms", cpu.p95}, {"cpu_p99_ms", cpu.p99},
          {"runs", times.runs()}};
}

nlohmann::json json_of(const NodeCounts& counts) {
  auto doc = nlohmann::json{{"integers", nlohmann::json::object()},
                            {"floats", nlohmann::json::object()},
                            {"onnxruntime_ran", counts.ran},
                            {"not_compared", counts.uncompared}};
  for (const auto& [name, c] : counts.integers) {
    doc["integers"][name] = {{"nodes", c.nodes}, {"equal", c.equal},     {"one_step", c.one_step},
                             {"more", c.more},   {"allowed", c.allowed}, {"first", c.first_beyond}};
  }
  for (const auto& [name, c] : counts.floats) {
    doc["floats"][name] = {
        {"nodes", c.nodes}, {"results", c.equal}, {"worst", c.worst}, {"at", c.first_beyond}};
  }
  return doc;
}

}  // namespace wick::tool
