#include "quantize/modules/quantizer.h"

#include <fmt/core.h>

#include <set>

#include "quantize/parameters.h"
#include "trainer/capture/capture.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/nn/mode_scope.h"
#include "wick/error.h"

namespace wick::quantize {

QuantizedModel::QuantizedModel(ir::Graph integers, QuantizeResult quantized, ir::LowerReport report)
    : GraphModule(std::move(integers)),
      quantized_(std::move(quantized)),
      lowered_(std::move(report)) {
  requires_grad_(false);
  eval();
}

int64_t QuantizedModel::bytes() const {
  std::set<ir::ValueId> counted;
  int64_t all = 0;
  for (const ir::Node& n : graph().nodes()) {
    if (n.removed()) continue;
    for (const ir::ValueId v : n.inputs) {
      if (v != ir::kNoValue && graph().is_constant(v) && counted.insert(v).second)
        all += static_cast<int64_t>(graph().value(v).constant.nbytes());
    }
  }
  return all;
}

int64_t QuantizedModel::parameter_count() const {
  std::set<ir::ValueId> counted;
  int64_t all = 0;
  for (const ir::Node& n : graph().nodes()) {
    for (size_t i = 0; !n.removed() && i < n.inputs.size(); ++i) {
      const ir::ValueId v = n.inputs[i];
      if (v == ir::kNoValue || !graph().is_constant(v)) continue;
      const HostTensor& t = graph().value(v).constant;
      if (is_parameter(n.op, i, t.dtype(), t.numel()) && counted.insert(v).second) all += t.numel();
    }
  }
  return all;
}

std::unique_ptr<QuantizedModel> quantize_model(nn::Module& model,
                                               const std::vector<Tensor>& calibration,
                                               const Recipe& recipe) {
  if (calibration.empty())
    throw_error("quantize_model", "no batch: one shows the input's shape, some its range");
  const ir::Graph graph = [&] {
    const nn::ModeScope eval(model, false);
    return capture(model, {{"input", calibration[0], {{0, "batch"}}, {}}});
  }();
  const Batches batches = [&](int64_t i) -> std::optional<Batch> {
    if (i >= static_cast<int64_t>(calibration.size())) return std::nullopt;
    return Batch{{"input", host_copy(calibration[static_cast<size_t>(i)])}};
  };
  QuantizeResult quantized = quantize(graph, recipe, batches);
  ir::LowerReport report;
  ir::Graph integers = ir::lowered(quantized.graph, &report);
  // Weights in blocks become BlockLinear, which multiplies by them as they are stored.
  constexpr ir::Pass kKeep[] = {ir::kBlocks, ir::kDce};
  ir::run_passes(integers, kKeep);
  return std::make_unique<QuantizedModel>(std::move(integers), std::move(quantized),
                                          std::move(report));
}

std::string ModelSizes::text() const {
  return fmt::format("{} -> {} bytes ({:.2f} x smaller)", original_bytes, quantized_bytes, ratio());
}

ModelSizes compare_model_sizes(const nn::Module& original, const QuantizedModel& quantized) {
  ModelSizes sizes;
  std::set<const void*> counted;  // shared ones count once
  for (const auto& [name, t] : original.state_dict()) {
    if (counted.insert(t.layout().data).second)
      sizes.original_bytes += static_cast<int64_t>(t.raw().nbytes());
  }
  sizes.quantized_bytes = quantized.bytes();
  return sizes;
}

}  // namespace wick::quantize
