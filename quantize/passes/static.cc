#include "quantize/passes/half_weights.h"
#include "quantize/passes/insert_qdq.h"
#include "quantize/passes/quantize.h"
#include "wick/error.h"

namespace wick::quantize {

QuantizeResult quantize_static(const ir::Graph& from, const Calibration& calibration,
                               const Recipe& recipe, const Batches& batches,
                               const CalibrateOptions& options) {
  const ir::Graph graph = with_half_weights(from, recipe);
  const Plan plan = plan_quantization(graph, recipe);
  QuantizeResult result;
  result.stayed = plan.stayed(graph);
  result.notes = calibration.notes;
  std::optional<LayerInputs> inputs;
  if (recipe.gptq) inputs.emplace(graph, batches, options);
  result.graph = insert_qdq(graph, plan, calibration, recipe, recipe.bias_correction,
                            inputs ? &*inputs : nullptr, &result.notes);
  if (inputs) {
    result.notes.insert(result.notes.end(), inputs->notes().begin(), inputs->notes().end());
  }
  if (recipe.bias_correction) correct_biases(result.graph, calibration, recipe, batches, options);
  result.graph.compact();
  ir::verify(result.graph, "after quantize_static");
  return result;
}

QuantizeResult quantize(ir::Graph graph, const Recipe& recipe, const Batches& batches,
                        const CalibrateOptions& options) {
  ir::PassReport report;
  const ir::Graph g = prepare(std::move(graph), recipe, &report);
  switch (recipe.mode) {
    case Mode::kDynamic: return quantize_dynamic(g, recipe, batches, options);
    case Mode::kF16:
    case Mode::kBF16: return round_weights(g, recipe);
    case Mode::kWeightOnly: return quantize_weights(g, recipe, batches, options);
    case Mode::kStatic: {
      if (!batches) throw_error("quantize", "static quantization needs data to calibrate with");
      return quantize_static(g, calibrate(g, batches, recipe, options), recipe, batches, options);
    }
    default: break;
  }
  throw_error("quantize", std::string("recipe \"") + mode_name(recipe.mode) +
                              "\" is not one for a graph alone");
}

}  // namespace wick::quantize
