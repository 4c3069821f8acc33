#include "wick/compile.h"

#include <algorithm>

#include "wick/error.h"

namespace wick {
namespace {

ProgramInfo optimize_for(ir::Graph* graph, ProgramInfo info, CompileOptions options) {
  ir::verify(*graph, "before compiling");
  const ir::PassReport report = ir::optimize(*graph, {.chains = options.chains,
                                                      .products = options.products,
                                                      .samples = std::move(options.samples)});
  info.numerics = std::max(info.numerics, static_cast<NumericsClass>(report.numerics));
  if (options.report != nullptr) *options.report = report;
  return info;
}

ProgramInfo optimize_all(std::vector<ir::Entry>* entries, ProgramInfo info,
                         const CompileOptions& options) {
  if (!options.samples.empty())
    throw Error("samples are for one graph, a program of entry points has several");
  for (ir::Entry& entry : *entries) info = optimize_for(&entry.graph, std::move(info), options);
  return info;
}

}  // namespace

std::vector<uint8_t> compile_program(ir::Graph graph, ProgramInfo info, CompileOptions options) {
  const ProgramForm form = options.form;
  info = optimize_for(&graph, std::move(info), std::move(options));
  return program_bytes(graph, info, {}, form);
}

void export_wick(ir::Graph graph, const std::string& path, ProgramInfo info,
                 CompileOptions options) {
  const ProgramForm form = options.form;
  info = optimize_for(&graph, std::move(info), std::move(options));
  write_program(graph, path, info, {}, form);
}

std::vector<uint8_t> compile_program(std::vector<ir::Entry> entries, ProgramInfo info,
                                     CompileOptions options) {
  info = optimize_all(&entries, std::move(info), options);
  return program_bytes(std::move(entries), info, options.form);
}

void export_wick(std::vector<ir::Entry> entries, const std::string& path, ProgramInfo info,
                 CompileOptions options) {
  info = optimize_all(&entries, std::move(info), options);
  write_program(std::move(entries), path, info, options.form);
}

}  // namespace wick
