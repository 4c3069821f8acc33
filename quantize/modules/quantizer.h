// Quantizes a trained model in one call. Example:
//
//   auto small = quantize::quantize_model(net, {images});
//   std::puts(quantize::compare_model_sizes(net, *small).text().c_str());
//   (*small)(x);                            // integer ops, one by one
//   export_wick(small->to_graph(), "net8.wick");
//   export_onnx(small->qdq(), "net8.onnx");
#pragma once

#include <memory>

#include "graph/passes/lower_qdq.h"
#include "quantize/modules/int8.h"
#include "quantize/modules/quantized_linear.h"
#include "quantize/passes/quantize.h"
#include "trainer/capture/graph_module.h"

namespace wick::quantize {

// A graph of integer ops as a module: its forward runs them through the trainer's one entry point
// for ops, so that it computes the bits of the .wick made of to_graph(). Weights are buffers;
// nothing trains.
class QuantizedModel : public nn::GraphModule {
 public:
  // `integers` is the graph that runs, made from quantized.graph.
  QuantizedModel(ir::Graph integers, QuantizeResult quantized, ir::LowerReport report);
  const ir::Graph& qdq() const { return quantized_.graph; }  // for ONNX
  // Returns what still computes with floats, and why.
  const std::vector<Unquantized>& stayed() const { return quantized_.stayed; }
  // Returns remarks on calibration and on what became of weights.
  const std::vector<std::string>& notes() const { return quantized_.notes; }
  // Returns which nodes became integer ops.
  const ir::LowerReport& lowered() const { return lowered_; }
  // Returns the size of all constants: integers, scales, zero points, tables.
  int64_t bytes() const;
  // Returns the number of weights and biases: as many as the float model has, batch norms folded.
  int64_t parameter_count() const;

 private:
  QuantizeResult quantized_;
  ir::LowerReport lowered_;
};

// Captures the model (in eval mode, whatever mode it is in, with a free batch), and does what
// quantize() does with the recipe: static, or dynamic or weight-only, which use only the shape of
// the batches. Layers of every kind are quantized, as docs/use/quantize.md has them; the model
// stays as it is. Throws Error if there is no batch, for data that calibrate() refuses, and for a
// model that capture() refuses.
std::unique_ptr<QuantizedModel> quantize_model(nn::Module& model,
                                               const std::vector<Tensor>& calibration,
                                               const Recipe& recipe = {});

// Bytes of a model before and after.
struct ModelSizes {
  int64_t original_bytes = 0;   // parameters and buffers
  int64_t quantized_bytes = 0;  // of the quantized one
  double ratio() const {        // how many times smaller
    return static_cast<double>(original_bytes) / static_cast<double>(quantized_bytes);
  }
  int64_t saved() const { return original_bytes - quantized_bytes; }  // bytes less
  std::string text() const;  // "9640 -> 2760 bytes (3.49 x smaller)"
};
// Returns the bytes of both.
ModelSizes compare_model_sizes(const nn::Module& original, const QuantizedModel& quantized);

// The functions above with one recipe.
class Quantizer {
 public:
  explicit Quantizer(Recipe recipe = {}) : recipe_(std::move(recipe)) { check(recipe_); }
  const Recipe& recipe() const { return recipe_; }
  // The functions quantize_int8(), dequantize_int8(), QuantizedLinear(), quantize_model() and
  // compare_model_sizes(), with this recipe.
  static Int8Tensor quantize_tensor(const Arg& x) { return quantize_int8(x); }
  static Tensor dequantize_tensor(const Int8Tensor& q, Where where = Where::current()) {
    return dequantize_int8(q, where);
  }
  QuantizedLinear quantize_linear(const nn::Linear& layer) const {
    return QuantizedLinear(layer, recipe_);
  }
  std::unique_ptr<QuantizedModel> quantize_model(nn::Module& model,
                                                 const std::vector<Tensor>& calibration) const {
    return quantize::quantize_model(model, calibration, recipe_);
  }
  static ModelSizes compare_models(const nn::Module& original, const QuantizedModel& quantized) {
    return compare_model_sizes(original, quantized);
  }

 private:
  Recipe recipe_;
};

}  // namespace wick::quantize
