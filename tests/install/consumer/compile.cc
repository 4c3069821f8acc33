// The installed compiler and runtime together: a graph in memory, its .wick bytes, loaded and run.
#include <cstdio>

#include "wick/compile.h"
#include "wick/runtime.h"

int main() {
  wick::ir::Graph graph;
  wick::ir::ValueId x = graph.add_input("x", wick::DType::kF32, {4});
  graph.add_output("y", graph.emit(wick::OpId::kRelu, {x}));
  std::vector<uint8_t> bytes = wick::compile_program(graph);

  auto program = wick::Program::load(wick::Span<const uint8_t>(bytes.data(), bytes.size()));
  if (!program.ok()) return std::puts(program.status().message()), 1;
  auto session = wick::Session::create(**program);
  if (!session.ok()) return std::puts(session.status().message()), 1;
  float in[4] = {-1, 2, -3, 4}, out[4] = {};
  wick::TensorView from(in, wick::DType::kF32, {4}), to(out, wick::DType::kF32, {4});
  wick::Status s = (*session)->run({&from, 1}, {&to, 1});
  if (!s.ok()) return std::puts(s.message()), 1;
  return out[0] == 0 && out[1] == 2 && out[2] == 0 && out[3] == 4 ? 0 : 1;
}
