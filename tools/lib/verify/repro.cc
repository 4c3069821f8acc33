#include "tools/lib/verify/repro.h"

#include <fmt/core.h>

#include <filesystem>

#include "exporter/onnx/onnx.h"
#include "exporter/program/program_writer.h"
#include "tools/lib/arrays.h"
#include "tools/lib/text.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string repro_folder(const std::string& folder, const VerifyRow& row) {
  std::string name;
  for (char c : row.target) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  const fs::path made = fs::path(folder) / name;
  std::error_code failed;
  fs::create_directories(made, failed);
  if (failed)
    throw Error(fmt::format("--repro '{}': {}", made.string(), failed.message()), Code::kIo);
  return made.string();
}

void finish_repro(const std::string& made, const VerifyRow& row, const std::string& model,
                  const std::vector<std::string>& input_names, Span<const HostTensor> inputs,
                  size_t nodes, const std::string& more) {
  std::string command = "wick verify " + model;
  const std::vector<std::string> files = file_names(input_names);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const fs::path file = write_value((fs::path(made) / files[i]).string(), inputs[i]);
    command += " --input " + shell_quote(input_names[i] + "=" + file.filename().string());
  }
  write_text(
      (fs::path(made) / "README.md").string(),
      fmt::format("{}: {}\n{}\n\n{} here:\n\n    {}{}\n", row.model, row.target, row.first->text(),
                  nodes == 1 ? "The node shows it" : fmt::format("The {} nodes show it", nodes),
                  command, more));
}

std::string write_repro(const std::string& folder, const VerifyRow& row, const CutGraph& cut,
                        const std::string& more) {
  const std::string made = repro_folder(folder, row);
  if (cut.nodes == 0) {
    write_text(
        (fs::path(made) / "README.md").string(),
        fmt::format("{}: {}\n{}\n\nNo part of the model shows it by itself: run wick verify on "
                    "the whole model.\n",
                    row.model, row.target, row.first->text()));
    return made;
  }
  std::string model = "model.onnx";
  try {
    export_onnx(cut.graph, (fs::path(made) / model).string());
  } catch (const Error&) {  // fused ops, and what ONNX has no form for
    model = "model.wick";
    write_program(cut.graph, (fs::path(made) / model).string());
  }
  std::vector<std::string> names;
  for (ir::ValueId v : cut.graph.inputs()) names.push_back(cut.graph.value(v).name);
  finish_repro(made, row, model, names, cut.inputs, cut.nodes, more);
  return made;
}

}  // namespace wick::tool
