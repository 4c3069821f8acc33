#include "wick/compile.h"

#include <algorithm>

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

}  // namespace

std::vector<uint8_t> compile_program(ir::Graph graph, ProgramInfo info, CompileOptions options) {
  info = optimize_for(&graph, std::move(info), std::move(options));
  return program_bytes(graph, info);
}

void export_wick(ir::Graph graph, const std::string& path, ProgramInfo info,
                 CompileOptions options) {
  info = optimize_for(&graph, std::move(info), std::move(options));
  write_program(graph, path, info);
}

}  // namespace wick
