#include "exporter/onnx/test_case.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "exporter/onnx/tensor.h"
#include "wick/error.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot open '" + path.string() + "'", Code::kIo);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<onnx::TensorProto> read_tensors(const fs::path& set, const char* kind) {
  std::vector<onnx::TensorProto> tensors;
  for (int i = 0;; ++i) {
    fs::path file = set / fmt::format("{}_{}.pb", kind, i);
    if (!fs::exists(file)) return tensors;
    onnx::TensorProto t;
    if (!t.ParseFromString(read_bytes(file)))
      throw Error(file.string() + " is not a tensor", Code::kUnsupported);
    tensors.push_back(t);
  }
}

// Input values become initializers of the same name; the input they were goes.
void make_constant(onnx::ModelProto& model, std::vector<onnx::TensorProto>& inputs) {
  auto& graph = *model.mutable_graph();
  size_t keep = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_float(static_cast<DType>(inputs[i].data_type()))) {
      keep = i;
      break;
    }
  }
  std::set<std::string> constant;  // before IR 4 they stand among the inputs, without a file
  for (const auto& t : graph.initializer()) constant.insert(t.name());
  std::vector<onnx::ValueInfoProto> left;
  std::vector<onnx::TensorProto> left_inputs;
  size_t next = 0;
  for (const auto& info : graph.input()) {
    const bool file = constant.count(info.name()) == 0;
    const size_t i = next;
    if (file) ++next;
    const bool given = file && i < inputs.size();
    if (given && i != keep) {
      auto* tensor = graph.add_initializer();
      *tensor = inputs[i];
      tensor->set_name(info.name());
    } else {
      left.push_back(info);
      if (given) left_inputs.push_back(inputs[i]);
    }
  }
  graph.clear_input();
  for (const auto& info : left) *graph.add_input() = info;
  inputs = left_inputs;
}

}  // namespace

OnnxCase load_onnx_case(const std::string& folder, CaseMode mode) {
  OnnxCase c;
  c.folder = folder;
  fs::path set = fs::path(folder) / "test_data_set_0";
  std::string bytes = read_bytes(fs::path(folder) / "model.onnx");
  auto inputs = read_tensors(set, "input");
  if (mode == CaseMode::kConst) {
    onnx::ModelProto model;
    if (!model.ParseFromString(bytes))
      throw Error("model.onnx cannot be read", Code::kInvalidProgram);
    make_constant(model, inputs);
    bytes = model.SerializeAsString();
  }
  c.model.assign(bytes.begin(), bytes.end());
  for (const auto& t : inputs) c.inputs.push_back(onnx::decode(t, ""));
  for (const auto& t : read_tensors(set, "output")) c.outputs.push_back(onnx::decode(t, ""));
  return c;
}

std::string case_differs(const HostTensor& actual, const HostTensor& expected) {
  if (actual.dtype() != expected.dtype() || !(actual.shape() == expected.shape())) {
    return fmt::format("{}{}, expected {}{}", dtype_name(actual.dtype()),
                       to_text(actual.shape()).text, dtype_name(expected.dtype()),
                       to_text(expected.shape()).text);
  }
  const bool small = is_small(expected.dtype());  // their values exact, -0 and 0 alike
  if (!is_float(expected.dtype()) && !small)
    return same_bits(actual, expected) ? "" : "integers differ";
  for (int64_t i = 0; i < expected.numel(); ++i) {
    double a = element_as_double(actual, i), e = element_as_double(expected, i);
    if (a == e || (std::isnan(a) && std::isnan(e)) ||
        (!small && std::fabs(a - e) <= 1e-7 + 1e-3 * std::fabs(e)))
      continue;
    return fmt::format("element {}: {:.9g}, expected {:.9g}", i, a, e);
  }
  return "";
}

}  // namespace wick
