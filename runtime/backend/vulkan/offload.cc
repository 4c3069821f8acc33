#include "runtime/backend/vulkan/offload.h"

#include "runtime/ops/attrs/attention.h"
#include "runtime/ops/attrs/chain.h"
#include "runtime/ops/attrs/pool.h"

namespace wick::vulkan {
namespace {

uint64_t elements(const TensorView& v) {
  return v.present() ? static_cast<uint64_t>(v.numel()) : 0;
}
uint64_t dim(const Shape& s, int i) { return static_cast<uint64_t>(s[i]); }

// Products over in[0]'s last dim, one an element of the output.
uint64_t of_product(const KernelQuery& q) {
  const Shape& a = q.in[0].shape;
  return a.rank() == 0 ? 0 : 2 * elements(q.out[0]) * dim(a, a.rank() - 1);
}

// An element of the output sums over one filter; of a transposed one every input meets one.
uint64_t of_filters(const TensorView& weight, const TensorView& each) {
  if (weight.rank() == 0 || weight.shape[0] == 0) return 0;
  return 2 * elements(each) * (elements(weight) / dim(weight.shape, 0));
}

uint64_t of_attention(const KernelQuery& q) {
  const auto& a = q.as<FusedAttentionAttrs>();
  const int rank = q.in[0].rank();
  auto at = [&](size_t input, const DimList& perm, int i) {
    return dim(q.in[input].shape, perm.empty() ? i : static_cast<int>(perm[i]));
  };
  const uint64_t depth = at(0, a.q_perm, rank - 1), keys = at(1, a.k_perm, rank - 2),
                 width = at(2, a.v_perm, rank - 1);
  const uint64_t rows = depth == 0 ? 0 : elements(q.in[0]) / depth;
  return rows * keys * (2 * depth + 2 * width + 5);  // 5 for the softmax
}

// One an element of the window.
uint64_t of_pool(const KernelQuery& q) {
  uint64_t n = elements(q.out[0]);
  for (int64_t d : q.as<PoolAttrs>().kernel_shape.span()) n *= static_cast<uint64_t>(d);
  return n;
}

}  // namespace

Work work_of(const KernelQuery& q) {
  Work w;
  uint64_t made = 0, read = 0;
  for (const TensorView& v : q.out) {
    made += elements(v);
    w.bytes += v.nbytes();
  }
  for (size_t i = 0; i < q.in.size(); ++i) {
    if (!q.in[i].present()) continue;
    const bool looked_up = i == 0 && (q.op == OpId::kGather || q.op == OpId::kGatherElements ||
                                      q.op == OpId::kGatherND || q.op == OpId::kSlice);
    const uint64_t bytes = q.in[i].nbytes(), used = looked_up ? q.out[0].nbytes() : bytes;
    w.bytes += used < bytes ? used : bytes;
    read += elements(q.in[i]);
  }
  switch (q.op) {
    case OpId::kMatMul:
    case OpId::kLinear:
    case OpId::kFusedLinear:
    case OpId::kFusedMatMul:
    case OpId::kMatMulInteger:
    case OpId::kQLinearMatMul:
    case OpId::kQGemm:
    case OpId::kBlockLinear:
    case OpId::kDynamicLinear: w.flops = of_product(q); break;
    case OpId::kConv:
    case OpId::kFusedConv:
    case OpId::kConvInteger: w.flops = of_filters(q.in[1], q.out[0]); break;
    case OpId::kQLinearConv: w.flops = of_filters(q.in[3], q.out[0]); break;
    case OpId::kConvTranspose: w.flops = of_filters(q.in[1], q.in[0]); break;
    case OpId::kFusedAttention: w.flops = of_attention(q); break;
    case OpId::kFusedElementwise:
      w.flops = made * static_cast<uint64_t>(q.as<ChainAttrs>().steps.count);
      break;
    case OpId::kMaxPool:
    case OpId::kAveragePool: w.flops = of_pool(q); break;
    case OpId::kSoftmax:
    case OpId::kLogSoftmax: w.flops = 5 * made; break;
    case OpId::kIdentity:
    case OpId::kReshape:
    case OpId::kFlatten:
    case OpId::kSqueeze:
    case OpId::kUnsqueeze: return {};  // the same bytes
    case OpId::kTranspose:
    case OpId::kExpand:
    case OpId::kConcat:
    case OpId::kSplit:
    case OpId::kSlice:
    case OpId::kPad:
    case OpId::kGather:
    case OpId::kGatherElements:
    case OpId::kGatherND:
    case OpId::kCast: break;
    default: w.flops = made > read ? made : read;
  }
  return w;
}

Work work_of(const PartitionSpec& spec, const PlanStep& step) {
  constexpr size_t kMost = 32;
  TensorView views[kMost];
  const size_t ins = step.in.size(), outs = step.out.size();
  auto view = [&](uint32_t v) {
    if (v == kNoIndex) return TensorView();
    return TensorView(nullptr, spec.values[v].dtype, spec.values[v].shape);
  };
  if (ins + outs > kMost) {  // a Concat, a Split: bytes alone
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
