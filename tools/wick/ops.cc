// wick ops: the support matrix, from the tables themselves.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "exporter/onnx/onnx.h"
#include "runtime/backend/vulkan/backend.h"
#include "runtime/kernels/kernel.h"
#include "runtime/registry/registry.h"
#include "tools/wick/command.h"
#include "tools/wick/onnx_ops.h"
#include "tools/wick/onnx_reading.h"
#include "tools/wick/own_op/own_op.h"
#include "trainer/autograd/grad_table.h"
#include "trainer/kernels/kernel_set.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

struct OpsOptions {
  std::string name, search, subject;
  OwnOp own;
  bool json = false, markdown = false, onnx = false;
};

// Returns the kernels of the runtime's set and of the training ops' own.
std::vector<std::string> kernel_names(const KernelSet& infer, const KernelSet& train, OpId op) {
  std::vector<std::string> names;
  for (const KernelSet* set : {&infer, &train}) {
    for (const KernelEntry& entry : set->entries) {
      if (entry.op != op || entry.rows == nullptr) continue;
      for (const KernelRow& row : *entry.rows) names.push_back(row.name);
    }
  }
  return names;
}

std::string lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

// A kernel's name contains its dtypes as words: "gather.i32.ref".
std::set<std::string> dtypes_of(const std::vector<std::string>& kernels) {
  std::set<std::string> found;
  for (const std::string& name : kernels) {
    for (size_t at = 0; at < name.size();) {
      size_t end = std::min(name.find('.', at), name.size());
      std::string word = name.substr(at, end - at);
      bool sized = word.size() > 1 && (word[0] == 'f' || word[0] == 'i' || word[0] == 'u') &&
                   word.find_first_not_of("0123456789", 1) == std::string::npos;
      if (sized || word == "bf16" || word == "bool") found.insert(word);
      at = end + 1;
    }
  }
  return found;
}

// Returns what the ONNX writer makes of a small node of this op; empty if no sample here fits the
// op.
std::string onnx_nodes(const OpInfo& op) {
  struct Like {
    DType dtype;
    Shape shape;
  };
  const Like image{DType::kF32, {1, 4, 8, 8}}, square{DType::kF32, {4, 4}},
      vector{DType::kF32, {4}}, kernel{DType::kF32, {4, 4, 3, 3}}, index{DType::kI64, {1}},
      flags{DType::kBool, {4, 4}}, bytes{DType::kU8, {4, 4}};
  const Like samples[][2] = {{image, image},  {image, kernel}, {image, vector}, {square, square},
                             {square, index}, {flags, flags},  {flags, square}, {bytes, bytes},
                             {index, index},  {vector, vector}};
  for (const auto& sample : samples) {
    try {
      ir::Graph g;
      std::vector<ir::ValueId> in;
      for (int i = 0; i < std::max<int>(op.min_inputs, 1); ++i) {
        const Like& like = sample[i == 0 ? 0 : 1];
        in.push_back(g.add_input(fmt::format("x{}", i), like.dtype, to_symbolic(like.shape)));
      }
      AnyAttrs attrs;
      op.attrs->init(attrs.get());
      for (const AttrField& f : op.attrs->fields) {
        const int64_t two[] = {2, 2};
        if (f.name == std::string("kernel_shape")) set_attr_ints(f, attrs.get(), two);
      }
      ir::NodeId n = g.add_node(op.id, attrs, in);
      for (size_t k = 0; k < g.node(n).outputs.size(); ++k)
        g.add_output(fmt::format("y{}", k), g.node(n).outputs[k]);
      return fmt::format("{}", fmt::join(onnx_op_types(g), ", "));
    } catch (const Error&) {
    }
  }
  return "";
}

nlohmann::json describe(const OpInfo& op) {
  auto attributes = nlohmann::json::array();
  for (const AttrField& field : op.attrs->fields) attributes.push_back(field.name);
  nlohmann::json doc = {{"id", static_cast<int>(op.id)},
                        {"name", op.name},
                        {"role", op.role == OpRole::kInfer     ? "infer"
                                 : op.role == OpRole::kControl ? "control"
                                                               : "train"},
                        {"min_inputs", op.min_inputs},
                        {"max_inputs", op.max_inputs},
                        {"outputs", op.outputs},
                        {"attributes", attributes},
                        {"reference", nlohmann::json::array()},
                        {"simd", nlohmann::json::array()}};
  std::vector<std::string> all;
  if (const CustomOp* custom = find_custom_op(op.id); custom != nullptr) {
    for (size_t i = 0; i < custom->kernels.size; ++i) all.push_back(custom->kernels.data[i].name);
    doc["custom"] = all;
    doc["version"] = custom->version;
    doc["gradient"] = custom->gradient != nullptr;
    doc["onnx"] = op.name;
  } else {
    std::vector<std::string> simd = kernel_names(kCpuKernels, kTrainKernels, op.id);
    all = kernel_names(kReferenceKernels, kTrainReferenceKernels, op.id);
    doc["reference"] = all;
    doc["simd"] = simd;
    all.insert(all.end(), simd.begin(), simd.end());
    doc["gradient"] = grad_row(op.id).formula != nullptr;
    // Every op of role infer has a row there; some have no small sample.
    std::string nodes = op.role == OpRole::kInfer ? onnx_nodes(op) : "";
    doc["onnx"] = op.role == OpRole::kTrain ? nlohmann::json()
                                            : nlohmann::json(nodes.empty() ? "yes" : nodes);
  }
  doc["dtypes"] = dtypes_of(all);
  const std::string why = VulkanBackend::why_no_shader(op.id);
  doc["vulkan"] = why.empty();
  if (!why.empty()) doc["why_no_vulkan"] = why;
  return doc;
}

std::string text_of(const nlohmann::json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const auto& v : value) text += fmt::format("{}{}", text.empty() ? "" : " ", text_of(v));
  return text.empty() ? "-" : text;
}

std::string count_text(const nlohmann::json& op, const char* min, const char* max) {
  int least = op[min].get<int>(), most = op[max].get<int>();
  if (most == 255) return fmt::format("{}+", least == 255 ? 1 : least);
  return least == most ? fmt::format("{}", least) : fmt::format("{}-{}", least, most);
}

void print_one(const nlohmann::json& op) {
  fmt::print("{}  id {}, {}, {} inputs, {} outputs\n", text_of(op["name"]), op["id"].get<int>(),
             text_of(op["role"]), count_text(op, "min_inputs", "max_inputs"),
             count_text(op, "outputs", "outputs"));
  fmt::print("  attributes  {}\n  dtypes      {}\n", text_of(op["attributes"]),
             text_of(op["dtypes"]));
  for (const char* set : {"simd", "reference", "custom"}) {
    if (!op.contains(set)) continue;
    fmt::print("  cpu {:<9} {}\n", set, text_of(op[set]));
  }
  const std::string why = op.value("why_no_vulkan", "");
  fmt::print("  Vulkan      {}{}\n", text_of(op["vulkan"]), why.empty() ? "" : ": " + why);
  fmt::print("  gradient    {}\n  ONNX        {}\n", text_of(op["gradient"]), text_of(op["onnx"]));
}

void print_markdown(const nlohmann::json& document) {
  fmt::print(
      "# Ops\n\nEvery row of `runtime/ops/ops.def`, from the tables themselves. Ops of role train "
      "are "
      "gradients and batch\nstatistics: they are in no file. \"yes\" under ONNX: written as other "
      "nodes.\n\n"
      "| op | id | role | inputs | outputs | attributes | dtypes | SIMD | Vulkan | gradient | ONNX "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& op : document) {
    const std::string why = op.value("why_no_vulkan", "");
    fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", text_of(op["name"]),
               op["id"].get<int>(), text_of(op["role"]), count_text(op, "min_inputs", "max_inputs"),
               count_text(op, "outputs", "outputs"), text_of(op["attributes"]),
               text_of(op["dtypes"]), op["simd"].empty() ? "no" : "yes",
               why.empty() ? "yes" : "no: " + why, text_of(op["gradient"]), text_of(op["onnx"]));
  }
}

void onnx_operators_table(const OpsOptions& options) {
  const nlohmann::json matrix = onnx_matrix(options.name);
  if (options.json) return print_json(matrix);
  const bool one = !options.name.empty() && !options.markdown;
  fmt::print("{}", one ? onnx_operator_text(matrix["operators"][0]) : onnx_matrix_page(matrix));
}

// A name that no op has may be an operator of ONNX, which is read as other ops.
void onnx_name(const OpsOptions& options) {
  const nlohmann::json reading = onnx_reading(options.name);
  if (reading.is_null()) {
    throw Error(
        fmt::format("there is no op {}, and no operator of ONNX; `wick ops --search {}` looks "
                    "for names that contain it",
                    options.name, options.name),
        Code::kNotFound);
  }
  if (options.json) return print_json(nlohmann::json::array({reading}));
  fmt::print("{}", onnx_reading_text(reading));
}

// Returns what makes, checks or times a file of an op, if the name says that; null otherwise.
auto work_on_a_file(const OpsOptions& options) -> void (*)(const std::string&, const OwnOp&) {
  if (options.name == "new") return ops_new;
  if (options.name == "test") return ops_test;
  return options.name == "bench" ? ops_bench : nullptr;
}

void ops(OpsOptions& options) {
  if (const auto work = work_on_a_file(options); work != nullptr) {
    if (options.subject.empty())
      wrong_usage("subject", "is missing: wick ops " + options.name + " takes " +
                                 (options.name == "new" ? "the new op's name" : "the op's file"));
    options.own.json = options.json;
    return work(options.subject, options.own);
  }
  if (!options.subject.empty())
    wrong_usage("subject",
                "'" + options.subject +
                    "' is too many: new, test and bench take a second word, a list of ops "
                    "one name");
  if (options.onnx) return onnx_operators_table(options);
  auto document = nlohmann::json::array();
  auto add = [&](const OpInfo& op) {
    std::string name = lower(op.name);
    if (name.find(lower(options.search)) == std::string::npos) return;
    if (!options.name.empty() && name != lower(options.name)) return;
    document.push_back(describe(op));
  };
  for (const OpInfo& op : all_ops()) add(op);
  for (const CustomOp* op : registered_ops()) add(*op_info(custom_op_id(*op)));
  if (document.empty() && !options.name.empty()) return onnx_name(options);
  if (options.json) return print_json(document);
  if (options.markdown) return print_markdown(document);
  if (!options.name.empty()) return print_one(document[0]);
  fmt::print("{:<18} {:>5}  {:<6} {:<9} {:<7} {}\n", "op", "id", "role", "gradient", "Vulkan",
             "kernels");
  for (const auto& op : document) {
    std::string kernels;
    for (const char* set : {"simd", "reference", "custom"}) {
      if (!op.contains(set)) continue;
      for (const auto& name : op[set]) kernels += name.get<std::string>() + " ";
    }
    fmt::print("{:<18} {:>5}  {:<6} {:<9} {:<7} {}\n", text_of(op["name"]), op["id"].get<int>(),
               text_of(op["role"]), text_of(op["gradient"]), text_of(op["vulkan"]), kernels);
  }
}

}  // namespace

void add_ops(CommandLine& app) {
  auto options = std::make_shared<OpsOptions>();
  Command command = app.add_command(
      "ops",
      "List the ops with their attributes, kernels, gradients and ONNX names, or ONNX's operators");
  command.add_option("name", options->name,
                     "one op, whole: Add; or an operator of ONNX, and the ops that it is read as; "
                     "or new, test, bench: an op of your own");
  command.add_option("subject", options->subject,
                     "new NAME writes NAME.cc, test FILE.cc checks it, bench FILE.cc times it");
  command.add_option("--domain", options->own.domain, "of a new op");
  command
      .add_option("--flag", options->own.flags,
                  "of the compiler, for test and bench: --flag=-march=native; may be given more "
                  "than once")
      .one_word();
  command.add_flag("--onnx", options->onnx,
                   "ONNX's operators instead: by opset, what reads, runs, writes and trains");
  command.add_option("--search", options->search, "only ops whose name contains this");
  accept_ops(command);
  command.add_flag("--json", options->json, "print JSON");
  command.add_flag("--markdown", options->markdown, "print one table in Markdown");
  command.footer(
      "Example:\n  wick ops --search conv\n  wick ops Add\n  wick ops --onnx Resize\n"
      "  wick ops new my_softmax");
  command.callback([options] { ops(*options); });
}

}  // namespace wick::tool
