// The installed compiler and runtime together: a graph in memory, its .wick bytes, loaded and run.
#include <cstdio>

#include "wick/compile.h"
#include "wick/runtime.h"

// What of quantization a user reaches by the one header.
bool quantizes() {
  namespace quantize = wick::quantize;
  wick::ir::Graph graph;
  const wick::ir::ValueId x = graph.add_input("x", wick::DType::kF32, {2, 3});
  const wick::ir::ValueId w =
      graph.add_constant(wick::HostTensor::of<float>({2, 3}, {1, 2, 3, -1, 0, 1}), "w", true);
  graph.add_output("y", graph.emit(wick::OpId::kLinear, {x, w}));
  const wick::HostTensor in = wick::HostTensor::of<float>({2, 3}, {1, 0, -1, 0.5F, 0.25F, 1});
  const quantize::Batches batches = quantize::batches_of({{{"x", in}}});
  const quantize::QuantizeResult q = quantize::quantize(graph, quantize::Recipe(), batches);
  const quantize::Comparison c = quantize::compare(graph, q, batches);
  wick::ir::LowerReport report;
  wick::ir::lowered(q.graph, &report);
  bool good = c.layers.size() == 2 && report.integer.count("QGemm") == 1;
#ifdef WICK_WITH_TRAINER
  const wick::Tensor t = wick::quantize::dequantize_int8(
      quantize::quantize_int8(wick::from_blob(in.data(), in.shape(), in.dtype())));
  quantize::QatModule net(graph);
  good = good && t.numel() == 6 && net.parameters().size() == 1;
#endif
  return good;
}

int main() {
  if (!quantizes()) return std::puts("quantization"), 1;
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
