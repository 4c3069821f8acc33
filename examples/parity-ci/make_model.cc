// Writes a small model as ONNX and as .wick: make_model model.onnx model.wick
#include <wick/compile.h>

#include <cstdio>
#include <exception>
#include <vector>

using namespace wick;

namespace {

HostTensor weights(const Shape& shape) {
  HostTensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>(i * 37 % 23) / 23 - 0.5F;
  return t;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    ir::Graph g;
    const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(20)});
    const ir::ValueId w = g.add_constant(weights({20, 24}), "w", true);
    const ir::ValueId b = g.add_constant(weights({24}), "b", true);
    const ir::ValueId v = g.add_constant(weights({24, 5}), "v", true);
    const ir::ValueId hidden = g.emit(OpId::kMatMul, {x, w}, "hidden");
    const ir::ValueId active =
        g.emit(OpId::kTanh, {g.emit(OpId::kAdd, {hidden, b}, "bias")}, "active");
    g.add_output("y", g.emit(OpId::kMatMul, {active, v}, "classes"));
    export_onnx(g, argv[1]);
    export_wick(g, argv[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "make_model: %s\n", e.what());
    return 1;
  }
  return 0;
}
