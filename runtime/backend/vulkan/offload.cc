#include "runtime/backend/vulkan/offload.h"

#include "runtime/ops/op_cost.h"

namespace wick::vulkan {

Work work_of(const KernelQuery& q) {
  if (is_view(q.op)) return {};  // the same bytes
  const OpCost cost = op_cost(q.op, q.attrs, q.in, q.out);
  return {static_cast<uint64_t>(cost.flops()), static_cast<uint64_t>(cost.bytes())};
}

Work work_of(const PartitionSpec& spec, const PlanStep& step) {
  constexpr size_t kMost = 32;
  TensorView views[kMost];
  const size_t ins = step.in.size(), outs = step.out.size();
  auto view = [&](uint32_t v) {
    if (v == kNoIndex) return TensorView();
    return TensorView(nullptr, spec.values[v].dtype, spec.values[v].shape);
  };
  if (ins + outs > kMost) {  // a Concat or Split: only bytes count
    Work w;
    for (uint32_t v : step.in) w.bytes += view(v).nbytes();
    for (uint32_t v : step.out) w.bytes += view(v).nbytes();
    return w;
  }
  for (size_t i = 0; i < ins; ++i) views[i] = view(step.in[i]);
  for (size_t i = 0; i < outs; ++i) views[ins + i] = view(step.out[i]);
  return work_of({step.node->op, step.node->attrs, {views, ins}, {views + ins, outs}, 1, nullptr});
}

Status worth_copying(const PartitionSpec& spec) {
  Work all;
  for (const PlanStep& step : spec.steps) {
    const Work w = work_of(spec, step);
    all.flops += w.flops;
    all.bytes += w.bytes;
  }
  uint64_t copied = 0;
  for (Span<const uint32_t> ids : {spec.inputs, spec.outputs}) {
    for (uint32_t v : ids)
      copied += TensorView(nullptr, spec.values[v].dtype, spec.values[v].shape).nbytes();
  }
  const uint64_t cpu_ns = all.flops / kCpuFlopsPerNs + all.bytes / kCpuBytesPerNs;
  const uint64_t way_ns = copied / kCopyBytesPerNs + kSubmissionNs;
  if (cpu_ns > way_ns) return {};
  return error(Code::kUnsupported,
               "it does not pay: %llu bytes to copy and a submission (%llu us), for what the CPU "
               "does in about %llu us",
               static_cast<unsigned long long>(copied),
               static_cast<unsigned long long>(way_ns / 1000),
               static_cast<unsigned long long>(cpu_ns / 1000));
}

}  // namespace wick::vulkan
