#include "graph/interpreter/known.h"

#include <algorithm>

#include "graph/interpreter/interpreter.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

constexpr int kMaxKnownDepth = 24, kMaxKnownNodes = 256;
constexpr uint64_t kMaxKnownBytes = 1 << 16;
constexpr double kMaxKnownWork = 1e7;  // for one value: known values are sizes

std::optional<HostTensor> known_behind(const Graph& g, ValueId id, int depth, int* budget,
                                       double* work_left) {
  if (id == kNoValue) return HostTensor();
  const Value& v = g.value(id);
  if (v.origin == ValueOrigin::kConstant) {
    if (v.constant.held_bytes() > kMaxKnownBytes) return std::nullopt;
    return v.constant;
  }
  if (v.has_elements && v.dtype == DType::kI64 && v.ranked && is_static(v.shape)) {
    std::vector<int64_t> ints;
    for (const SymDim& d : v.elements) {
      if (d.known()) ints.push_back(d.constant());
    }
    if (ints.size() == v.elements.size() &&
        static_cast<int64_t>(ints.size()) == numel(to_static(v.shape)))
      return HostTensor::of(to_static(v.shape), ints);
  }
  if (v.origin != ValueOrigin::kNode || depth == 0 || --*budget < 0) return std::nullopt;
  const Node& n = g.node(v.producer);
  if (n.inputs.empty() || is_custom(n.op) || op_info(n.op)->role != OpRole::kInfer)
    return std::nullopt;
  std::vector<HostTensor> in;
  for (ValueId i : n.inputs) {
    auto known = known_behind(g, i, depth - 1, budget, work_left);
    if (!known) return std::nullopt;
    in.push_back(*known);
  }
  InterpreterOptions options;
  options.max_bytes = kMaxKnownBytes;
  options.work_left = work_left;
  try {
    return run_any(g, n, in, options)[static_cast<size_t>(v.output)];
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<HostTensor> known_value(const Graph& graph, ValueId id, Ledger& ledger) {
  int budget = kMaxKnownNodes;
  const double most = std::min(kMaxKnownWork, ledger.left().work);
  double work_left = most;
  auto known = known_behind(graph, id, kMaxKnownDepth, &budget, &work_left);
  check_status(ledger.work(most - work_left));
  return known;
}

}  // namespace wick::ir
