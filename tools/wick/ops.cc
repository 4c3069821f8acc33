// wick ops: the support matrix, from the tables themselves.
#include <fmt/format.h>

#include "runtime/kernels/kernel.h"
#include "runtime/registry/registry.h"
#include "tools/wick/command.h"
#include "trainer/kernels/kernel_set.h"

namespace wick::tool {
namespace {

struct OpsOptions {
  std::string search;
  bool json = false;
};

// Of the runtime's set and of the training ops' own.
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

void ops(const OpsOptions& options) {
  auto document = nlohmann::json::array();
  for (const OpInfo& op : all_ops()) {
    if (lower(op.name).find(lower(options.search)) == std::string::npos) continue;
    auto attributes = nlohmann::json::array();
    for (const AttrField& field : op.attrs->fields) attributes.push_back(field.name);
    document.push_back(
        {{"id", static_cast<int>(op.id)},
         {"name", op.name},
         {"role", op.role == OpRole::kInfer ? "infer" : "train"},
         {"attributes", attributes},
         {"reference", kernel_names(kReferenceKernels, kTrainReferenceKernels, op.id)},
         {"simd", kernel_names(kCpuKernels, kTrainKernels, op.id)}});
  }
  if (options.json) return print_json(document);
  fmt::print("{:<18} {:>4}  {:<6} {}\n", "op", "id", "role", "kernels");
  for (const auto& op : document) {
    std::string kernels;
    for (const char* set : {"simd", "reference"}) {
      for (const auto& name : op[set]) {
        kernels += name.get<std::string>();
        kernels += ' ';
      }
    }
    fmt::print("{:<18} {:>4}  {:<6} {}\n", op["name"].get<std::string>(), op["id"].get<int>(),
               op["role"].get<std::string>(), kernels);
  }
}

}  // namespace

void add_ops_option(CLI::App& command) {
  command.add_option_function<std::vector<std::string>>(
      "--ops",
      [](const std::vector<std::string>& libraries) {
        for (const std::string& library : libraries) load_ops(library);
      },
      "library of custom ops that the model names; may be given more than once");
}

void add_ops(CLI::App& app) {
  auto options = std::make_shared<OpsOptions>();
  CLI::App* command = app.add_subcommand("ops", "List the ops with their attributes and kernels");
  command->add_option("--search", options->search, "only ops whose name contains this");
  command->add_flag("--json", options->json, "print JSON");
  command->footer("Example:\n  wick ops --search conv");
  command->callback([options] { ops(*options); });
}

}  // namespace wick::tool
