// Small graphs with fixed numbers, and the checks of their quantized forms.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "graph/interpreter/interpreter.h"
#include "quantize/passes/quantize.h"

namespace wick::test {

// The same in every run: about even over [-1, 1].
inline HostTensor noise(const Shape& s, uint64_t seed) {
  HostTensor t(DType::kF32, s);
  seed = seed * 2654435761U + 12345;
  for (int64_t i = 0; i < t.numel(); ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    t.as<float>()[i] = static_cast<float>(seed >> 40) / (1 << 23) - 1;
  }
  return t;
}

class Builder {
 public:
  ir::Graph g;
  ir::ValueId input(const std::string& name, const Shape& s) {
    return g.add_input(name, DType::kF32, to_symbolic(s));
  }
  ir::ValueId weight(const Shape& s, const std::string& name = "") {
    return g.add_constant(noise(s, ++seed_), name, true);
  }
  ir::ValueId conv(ir::ValueId x, int64_t out, int64_t in, int64_t kernel, const std::string& name,
                   int64_t group = 1, bool bias = true) {
    ConvAttrs a;
    a.group = group;
    if (kernel == 3) a.pads = {1, 1, 1, 1};
    std::vector<ir::ValueId> inputs = {x,
                                       weight({out, in / group, kernel, kernel}, name + ".weight")};
    if (bias) inputs.push_back(weight({out}, name + ".bias"));
    return g.emit(OpId::kConv, a, inputs, name);
  }
  ir::ValueId linear(ir::ValueId x, int64_t out, int64_t in, const std::string& name) {
    return g.emit(OpId::kLinear,
                  {x, weight({out, in}, name + ".weight"), weight({out}, name + ".bias")}, name);
  }
  ir::ValueId op(OpId id, std::vector<ir::ValueId> in, const std::string& name) {
    return g.emit(id, std::move(in), name);
  }

 private:
  uint64_t seed_ = 0;
};

inline std::vector<quantize::Batch> noise_batches(const ir::Graph& g, int count) {
  std::vector<quantize::Batch> all;
  for (int i = 0; i < count; ++i) {
    quantize::Batch b;
    for (ir::ValueId v : g.inputs()) {
      Shape s;
      for (const SymDim& d : g.value(v).shape) s.push_back(d.known() ? d.constant() : 4);
      b[g.value(v).name] =
          noise(s, 1000 + static_cast<uint64_t>(i) * 10 + static_cast<uint64_t>(v));
    }
    all.push_back(std::move(b));
  }
  return all;
}

inline std::vector<HostTensor> run_batch(const ir::Graph& g, const quantize::Batch& b) {
  return ir::run(g, quantize::graph_inputs(g, b, 0));
}

inline int count(const ir::Graph& g, OpId op) {
  int n = 0;
  for (const ir::Node& node : g.nodes()) n += !node.removed() && node.op == op;
  return n;
}

// 10 log10 of the signal's energy by the error's.
inline double sqnr(const HostTensor& want, const HostTensor& got) {
  double signal = 0, error = 0;
  for (int64_t i = 0; i < want.numel(); ++i) {
    const double w = want.as<float>()[i], e = w - got.as<float>()[i];
    signal += w * w, error += e * e;
  }
  return 10 * std::log10(signal / std::max(error, 1e-30));
}

}  // namespace wick::test
