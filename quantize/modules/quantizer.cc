#include "quantize/modules/quantizer.h"

#include <fmt/format.h>

#include <set>

#include "exporter/capture/capture.h"
#include "exporter/capture/graph_tracer.h"
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
  std::set<ir::ValueId> read;
  for (const ir::Node& n : graph().nodes()) {
    if (!n.removed()) read.insert(n.inputs.begin(), n.inputs.end());
  }
  int64_t all = 0;
  for (const ir::ValueId v : read) {
    if (v != ir::kNoValue && graph().is_constant(v))
      all += static_cast<int64_t>(graph().value(v).constant.nbytes());
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
  // weights in blocks: the op that multiplies by them as they are
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
  std::set<const void*> counted;  // shared ones once
  for (const auto& [name, t] : original.state_dict()) {
    if (counted.insert(t.raw().data).second)
      sizes.original_bytes += static_cast<int64_t>(t.raw().nbytes());
  }
  sizes.quantized_bytes = quantized.bytes();
  return sizes;
}

}  // namespace wick::quantize
