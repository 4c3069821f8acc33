#include "exporter/onnx/test_case.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "exporter/onnx/file/data_file.h"
#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/file/types.h"
#include "graph/ir/packed.h"
#include "runtime/core/regular_file.h"
#include "wick/error.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string read_bytes(const fs::path& path) {
  std::string bytes;
  check_status(read_regular_file(path.c_str(), &bytes));
  return bytes;
}

using Infos = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

// Returns the graph's inputs that a caller gives: before IR 4 initializers are listed among them
// too.
std::vector<onnx::ValueInfoProto> given_inputs(const onnx::GraphProto& graph) {
  std::set<std::string> constants;
  for (const auto& t : graph.initializer()) constants.insert(t.name());
  std::vector<onnx::ValueInfoProto> infos;
  for (const auto& info : graph.input()) {
    if (constants.count(info.name()) == 0) infos.push_back(info);
  }
  return infos;
}

template <class List>
std::vector<HostTensor> read_values(const fs::path& set, const char* kind, const List& infos) {
  std::vector<HostTensor> values;
  for (int i = 0;; ++i) {
    fs::path file = set / fmt::format("{}_{}.pb", kind, i);
    if (!fs::exists(file)) return values;
    ir::Graph scratch;
    ir::Value type;
    if (static_cast<size_t>(i) < static_cast<size_t>(infos.size()))
      type = onnx::type_of(infos[static_cast<decltype(infos.size())>(i)].type(), scratch,
                           file.string());
    values.push_back(onnx::decode_data(read_bytes(file), type, file.string()));
  }
}

HostTensor read_bound(const fs::path& file, const HostTensor& output) {
  onnx::TensorProto proto;
  if (!proto.ParseFromString(read_bytes(file)))
    throw Error(file.string() + " is not a tensor", Code::kInvalidProgram);
  HostTensor bound = onnx::decode(proto, "");
  if (bound.dtype() != DType::kF64 || !(bound.shape() == output.shape()))
    throw Error(
        fmt::format("{} must be f64{}, as its output", file.string(), to_text(output.shape()).text),
        Code::kInvalidProgram);
  return bound;
}

// Turns input values into initializers of the same name, in place of the inputs. What is not a
// tensor cannot be an initializer.
void make_constant(onnx::GraphProto& graph, std::vector<HostTensor>& inputs) {
  const std::vector<onnx::ValueInfoProto> infos = given_inputs(graph);
  auto first_float = std::find_if(inputs.begin(), inputs.end(),
                                  [](const HostTensor& t) { return is_float(t.dtype()); });
  const size_t keep =
      first_float == inputs.end() ? 0 : static_cast<size_t>(first_float - inputs.begin());
  std::set<std::string> gone;
  std::vector<HostTensor> left;
  for (size_t i = 0; i < infos.size() && i < inputs.size(); ++i) {
    if (i == keep || is_container(inputs[i].dtype())) {
      left.push_back(inputs[i]);
      continue;
    }
    *graph.add_initializer() = onnx::encode(inputs[i], infos[i].name());
    gone.insert(infos[i].name());
  }
  Infos kept;
  for (const auto& info : graph.input()) {
    if (gone.count(info.name()) == 0) *kept.Add() = info;
  }
  graph.mutable_input()->Swap(&kept);
  inputs = left;
}

// The suite's light models come with their output only: each input counts up from 0 to 1.
HostTensor ramp(const onnx::ValueInfoProto& info) {
  Shape shape;
  for (const auto& dim : info.type().tensor_type().shape().dim())
    shape.push_back(dim.has_dim_value() ? dim.dim_value() : 1);
  if (info.type().tensor_type().elem_type() != static_cast<int32_t>(DType::kF32))
    throw Error("input '" + info.name() + "' of a light model is not float32", Code::kUnsupported);
  HostTensor t(DType::kF32, shape);
  const auto n = static_cast<double>(t.numel());
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>(static_cast<double>(i) / n);
  return t;
}

}  // namespace

bool is_onnx_case(const std::string& path) {
  return fs::exists(fs::path(path) / "model.onnx") || fs::exists(path + ".onnx");
}

OnnxCase load_onnx_case(const std::string& folder, CaseMode mode) {
  OnnxCase c;
  const bool light = !fs::is_directory(folder);
  c.folder = light ? fs::path(folder).parent_path().string() : folder;
  std::string bytes =
      read_bytes(light ? fs::path(folder + ".onnx") : fs::path(folder) / "model.onnx");
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) throw Error("the model cannot be read", Code::kInvalidProgram);
  const auto infos = given_inputs(model.graph());
  if (light) {
    for (const auto& info : infos) c.inputs.push_back(ramp(info));
    onnx::TensorProto out;
    if (!out.ParseFromString(read_bytes(folder + "_output_0.pb")))
      throw Error(folder + "_output_0.pb is not a tensor", Code::kUnsupported);
    c.outputs = {onnx::decode(out, "")};
  } else {
    const fs::path set = fs::path(folder) / "test_data_set_0";
    c.inputs = read_values(set, "input", infos);
    c.outputs = read_values(set, "output", model.graph().output());
    for (size_t i = 0; i < c.outputs.size(); ++i) {
      const fs::path file = set / fmt::format("bound_{}.pb", i);
      if (fs::exists(file)) c.bounds.emplace(i, read_bound(file, c.outputs[i]));
    }
  }
  if (mode == CaseMode::kConst) {
    make_constant(*model.mutable_graph(), c.inputs);
    bytes = model.SerializeAsString();
  }
  c.model.assign(bytes.begin(), bytes.end());
  return c;
}

namespace {

std::string containers_differ(const HostTensor& actual, const HostTensor& expected) {
  const Unpacked a = unpack(actual), e = unpack(expected);
  if (a.present != e.present || a.elements.size() != e.elements.size() || a.element != e.element) {
    return fmt::format("{} of {} {}, expected {} of {} {}", dtype_name(actual.dtype()),
                       a.elements.size(), dtype_name(a.element), dtype_name(expected.dtype()),
                       e.elements.size(), dtype_name(e.element));
  }
  for (size_t i = 0; i < a.elements.size(); ++i) {
    std::string why = case_differs(a.elements[i], e.elements[i]);
    if (!why.empty()) return fmt::format("element {}: {}", i, why);
  }
  return "";
}

}  // namespace

std::string case_differs(const HostTensor& actual, const HostTensor& expected,
                         const HostTensor* bound, double absolute) {
  if (is_container(actual.dtype()) && actual.dtype() == expected.dtype())
    return containers_differ(actual, expected);
  if (actual.dtype() != expected.dtype() || !(actual.shape() == expected.shape())) {
    return fmt::format("{}{}, expected {}{}", dtype_name(actual.dtype()),
                       to_text(actual.shape()).text, dtype_name(expected.dtype()),
                       to_text(expected.shape()).text);
  }
  if (expected.dtype() == DType::kString) {
    for (int64_t i = 0; i < expected.numel(); ++i) {
      if (actual.string_at(i) != expected.string_at(i))
        return fmt::format("string {}: \"{}\", expected \"{}\"", i, actual.string_at(i),
                           expected.string_at(i));
    }
    return "";
  }
  const bool small = is_small(expected.dtype());  // compared exactly, with -0 equal to 0
  if (!is_float(expected.dtype()) && !small)
    return same_bits(actual, expected) ? "" : "integers differ";
  for (int64_t i = 0; i < expected.numel(); ++i) {
    double a = element_as_double(actual, i), e = element_as_double(expected, i);
    const double apart = small              ? 0
                         : bound != nullptr ? bound->as<double>()[i]
                                            : absolute + 1e-3 * std::fabs(e);
    if (a == e || (std::isnan(a) && std::isnan(e)) || std::fabs(a - e) <= apart) continue;
    return fmt::format("element {}: {:.9g}, expected {:.9g}{}", i, a, e,
                       bound == nullptr ? "" : fmt::format(" within {:.3g}", apart));
  }
  return "";
}

}  // namespace wick
