#include "tools/lib/verify/repro.h"

#include <fmt/core.h>

#include <filesystem>

#include "exporter/program/program_writer.h"
#include "tools/lib/arrays.h"
#include "tools/lib/text.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> input_names(const ir::Graph& g) {
  std::vector<std::string> names;
  for (ir::ValueId v : g.inputs()) names.push_back(g.value(v).name);
  return names;
}

// Writes ONNX, or a program for fused ops and others that have no ONNX form. Returns the file's
// name.
std::string write_model(const std::string& folder, const VerifyRow& row, const std::string& stem,
                        const ir::Graph& g) {
  try {
    export_onnx(g, (fs::path(folder) / (stem + ".onnx")).string());
    return stem + ".onnx";
  } catch (const Error&) {
    write_program(g, (fs::path(folder) / (stem + ".wick")).string(), {.source = row.model});
    return stem + ".wick";
  }
}

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
                  const std::vector<std::string>& names, Span<const HostTensor> inputs,
                  size_t nodes, const std::string& more) {
  std::string command = "wick verify " + model;
  const std::vector<std::string> files = file_names(names);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const fs::path file = write_value((fs::path(made) / files[i]).string(), inputs[i]);
    command += " --input " + shell_quote(names[i] + "=" + file.filename().string());
  }
  write_text(
      (fs::path(made) / "README.md").string(),
      fmt::format("{}: {}\n{}\n\n{} here:\n\n    {}{}\n", one_line(row.model), row.target,
                  one_line(row.first->text()),
                  nodes == 1 ? "The node shows it" : fmt::format("The {} nodes show it", nodes),
                  command, more));
}

std::string write_repro(const std::string& folder, const VerifyRow& row, const CutGraph& cut,
                        const std::string& more) {
  std::string made = repro_folder(folder, row);
  if (cut.nodes == 0) {
    write_text(
        (fs::path(made) / "README.md").string(),
        fmt::format("{}: {}\n{}\n\nNo part of the model shows it by itself: run wick verify on "
                    "the whole model.\n",
                    one_line(row.model), row.target, one_line(row.first->text())));
    return made;
  }
  finish_repro(made, row, write_model(made, row, "model", cut.graph), input_names(cut.graph),
               cut.inputs, cut.nodes, more);
  return made;
}

std::string write_pair_repro(const std::string& folder, const VerifyRow& row, const CutGraph& model,
                             const CutGraph& made) {
  std::string to = repro_folder(folder, row);
  const std::string files =
      write_model(to, row, "model", model.graph) + " " + write_model(to, row, "made", made.graph);
  finish_repro(to, row, files, input_names(model.graph), model.inputs, made.nodes, "");
  return to;
}

std::string write_written_repro(const std::string& folder, const VerifyRow& row,
                                const CutGraph& cut, bool wick, QuantizedForm form) {
  std::string made = repro_folder(folder, row);
  const auto write = [&](const std::string& name, bool program) {
    const std::string path = (fs::path(made) / name).string();
    if (program) {
      write_program(cut.graph, path, {.source = row.model});
    } else {
      export_onnx(cut.graph, path, {.quantized = form});
    }
    return name;
  };
  // The model is in the other format, whose writer is then not involved.
  const std::string model = write(wick ? "model.onnx" : "model.wick", !wick);
  const std::string file = write(wick ? "made.wick" : "made.onnx", wick);
  finish_repro(made, row, model + " " + file, input_names(cut.graph), cut.inputs, cut.nodes, "");
  return made;
}

}  // namespace wick::tool
