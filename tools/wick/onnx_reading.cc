#include "tools/wick/onnx_reading.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "exporter/onnx/onnx.h"
#include "exporter/onnx/operators.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

std::string lower_case(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

// The default domain's operator comes before another's of the same name.
std::optional<OnnxOperator> operator_named(const std::string& name) {
  const std::string wanted = lower_case(name);
  std::vector<OnnxOperator> all = onnx_operators();
  for (const char* domain : {"com.microsoft", "ai.onnx.ml", "ai.onnx.preview"}) {
    for (OnnxOperator& op : onnx_operators_of(domain)) all.push_back(std::move(op));
  }
  for (const OnnxOperator& op : all) {
    const size_t colons = op.name.find("::");
    if (lower_case(op.name) == wanted ||
        (colons != std::string::npos && lower_case(op.name.substr(colons + 2)) == wanted))
      return op;
  }
  return std::nullopt;
}

void add_ops(const ir::Graph& g, std::vector<std::string>* ops) {
  for (const ir::Node& n : g.nodes()) {
    if (n.removed()) continue;
    ops->push_back(op_info(n.op)->name);
    for (const ir::Graph& region : n.regions) add_ops(region, ops);
  }
}

// Returns the ops at one opset, of the first dtype that is read: float32, if it is.
nlohmann::json read_at(const std::string& name, int opset) {
  std::vector<DType> dtypes = {DType::kF32};
  for (int t = 1; t < kDTypeCount; ++t) dtypes.push_back(static_cast<DType>(t));
  for (const DType dtype : dtypes) {
    try {
      const std::vector<uint8_t> bytes = onnx_sample(name, opset, dtype);
      if (bytes.empty()) return {{"dtype", ""}, {"ops", nlohmann::json::array()}};
      std::vector<std::string> ops, warnings;
      add_ops(import_onnx_bytes(bytes, "", {.warnings = &warnings}), &ops);
      return {{"dtype", dtype_name(dtype)}, {"ops", ops}};
    } catch (const Error&) {  // of another dtype it may be read
    }
  }
  return {{"dtype", ""}, {"ops", nlohmann::json::array()}};
}

}  // namespace

nlohmann::json onnx_reading(const std::string& name) {
  const std::optional<OnnxOperator> op = operator_named(name);
  if (!op) return nullptr;
  nlohmann::json doc = {{"name", op->name}};
  if (!op->why_out.empty()) {
    doc["out"] = op->why_out;
    return doc;
  }
  auto ranges = nlohmann::json::array();
  for (size_t i = 0; i < op->changes.size(); ++i) {
    const int until = i + 1 < op->changes.size() ? op->changes[i + 1] - 1 : op->until;
    nlohmann::json range = read_at(op->name, op->changes[i]);
    if (!ranges.empty() && ranges.back()["ops"] == range["ops"] &&
        ranges.back()["dtype"] == range["dtype"]) {
      ranges.back()["until"] = until;
      continue;
    }
    range["from"] = op->changes[i];
    range["until"] = until;
    ranges.push_back(std::move(range));
  }
  doc["read_as"] = std::move(ranges);
  return doc;
}

std::string onnx_reading_text(const nlohmann::json& reading) {
  const auto name = reading["name"].get<std::string>();
  const bool own = name.find("::") != std::string::npos;
  if (reading.contains("out"))
    return fmt::format("{}  an operator of ONNX that is not read: {}\n", name,
                       reading["out"].get<std::string>());
  std::string text = fmt::format("{}  an operator of ONNX, read as\n", name);
  for (const auto& range : reading["read_as"]) {
    std::string ops;
    for (const auto& op : range["ops"])
      ops += fmt::format("{}{}", ops.empty() ? "" : " ", op.get<std::string>());
    text += fmt::format("  {} {}-{:<6} {}\n", own ? "version" : "opset", range["from"].get<int>(),
                        range["until"].get<int>(),
                        ops.empty()
                            ? "ops of sequences, optionals or bodies, as it has them"
                            : fmt::format("{} (of {})", ops, range["dtype"].get<std::string>()));
  }
  return text + fmt::format("`wick ops --onnx {}` says what runs where\n", name);
}

}  // namespace wick::tool
