#include "quantize/choose/output_error.h"

#include <algorithm>

#include "quantize/report/error_sums.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

bool is_real(const HostTensor& t) { return t.dtype() == DType::kF32 && t.numel() > 0; }

}  // namespace

OutputError::OutputError(const ir::Graph& graph, const Batches& batches, int64_t count,
                         int64_t most, const CalibrateOptions& options) {
  run_.kernels = options.kernels;
  const int64_t held = std::min(std::max<int64_t>(most, 1), count);
  for (int64_t k = 0; k < held; ++k) {
    const int64_t index = k * count / held;
    const std::optional<Batch> batch = batches ? batches(index) : std::nullopt;
    if (!batch) break;
    inputs_.push_back(graph_inputs(graph, *batch, index));
    outputs_.push_back(ir::run(graph, inputs_.back(), run_));
  }
  if (inputs_.empty()) throw_error("quantize", "there is no batch to compare outputs on");
}

double OutputError::sqnr_db(const ir::Graph& graph) const {
  std::vector<ErrorSums> sums(outputs_.front().size());
  std::vector<bool> any(sums.size(), false);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::vector<HostTensor> got = ir::run(graph, inputs_[i], run_);
    for (size_t k = 0; k < sums.size(); ++k) {
      const HostTensor& want = outputs_[i][k];
      if (!is_real(want)) continue;
      sums[k].add_output(want, got[k]);
      any[k] = true;
    }
  }
  double all = 0, outputs = 0;
  for (size_t k = 0; k < sums.size(); ++k) {
    if (!any[k]) continue;
    all += sums[k].numbers().sqnr_db;
    ++outputs;
  }
  return outputs == 0 ? kExactDb : all / outputs;
}

}  // namespace wick::quantize
