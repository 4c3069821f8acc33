// The installed quantizer: a graph and, with the trainer, a tensor and a module as integers.
// Nothing of ONNX is linked.
#include "wick/quantize.h"

int main() {
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
  return good ? 0 : 1;
}
