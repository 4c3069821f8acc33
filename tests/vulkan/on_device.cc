#include "tests/vulkan/on_device.h"

#include "tests/ops/sets.h"
#include "tests/vulkan/device.h"

namespace wick::test {

using vulkan::TensorId;
using vulkan::VulkanGraph;

Status IntoGraph::add(const vulkan::WholeCall& call) {
  Status status(Code::kUnsupported, "several calls");
  if (!vulkan::is_expanded(call.op))
    status = graph_.add_call(call.op, call.attrs, call.in_ids, call.out_ids, call.in);
  if (status.code() != Code::kUnsupported) return status;
  if (!vulkan::may_expand(call.op, call.in, call.out)) return status;
  return vulkan::expand(call, *this);
}

Result<TensorId> IntoGraph::constant(DType dtype, double value) {
  kept_.push_back(std::make_unique<Value>(dtype, Shape{}));
  kept_.back()->set(0, value);
  return graph_.add_constant(dtype, Shape{}, kept_.back()->view().data);
}

Status run_call(OpId op, const void* attrs, const std::vector<Value>& in, std::vector<Value>& out) {
  VulkanGraph graph(*shared_context(true), default_allocator());
  std::vector<TensorId> in_ids, out_ids;
  std::vector<TensorView> known, made;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t k = 0; k < in.size(); ++k) {
    const TensorView v = in[k].view();
    const bool seen = v.present() && vulkan::reads_input(op, k);
    known.push_back(seen ? TensorView(nullptr, v.dtype, v.shape) : v);
    if (!seen) {
      in_ids.push_back(vulkan::kNoTensor);
      continue;
    }
    WICK_ASSIGN(TensorId id, graph.add_input(v.dtype, v.shape));
    in_ids.push_back(id);
    inputs.push_back(v.data);
  }
  for (const Value& v : out) {
    WICK_ASSIGN(TensorId id, graph.add_temporary(v.view().dtype, v.view().shape));
    out_ids.push_back(id);
    outputs.push_back(v.view().data);
    made.emplace_back(nullptr, v.view().dtype, v.view().shape);
  }
  IntoGraph parts(graph);
  WICK_TRY(parts.add({op, attrs, known, in_ids, made, out_ids}));
  for (TensorId id : out_ids) WICK_TRY(graph.add_output(id));
  WICK_TRY(graph.finish());
  return graph.run(inputs, outputs);
}

std::string differs_from_cpu(OpId op, const void* attrs, const std::vector<Value>& in,
                             int outputs) {
  std::vector<Value> want, got;
  Status s = run_op(op, attrs, in, outputs, reference_sets(), nullptr, &want);
  if (!s.ok()) return std::string("the CPU: ") + s.message();
  for (const Value& w : want) got.emplace_back(w.view().dtype, w.view().shape);
  s = run_call(op, attrs, in, got);
  if (!s.ok()) return std::string("the device: ") + s.message();
  for (size_t i = 0; i < want.size(); ++i) {
    std::string text = bits_differ(got[i].view(), want[i].view());
    if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
  }
  return "";
}

}  // namespace wick::test
