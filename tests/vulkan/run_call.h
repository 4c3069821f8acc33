// Runs one call on the device; its inputs are given at run time.
#pragma once

#include <vector>

#include "runtime/backend/vulkan/graph/graph.h"
#include "tests/ops/values.h"

namespace wick::test {

// `out` has the outputs' shapes and takes what they become.
inline Status run_call(vulkan::Context& context, OpId op, const Sample& s,
                       const std::vector<Value>& in, const std::vector<Value>& out) {
  vulkan::VulkanGraph graph(context, default_allocator());
  std::vector<vulkan::TensorId> in_ids, out_ids;
  std::vector<TensorView> known;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (size_t i = 0; i < in.size(); ++i) {
    const TensorView v = in[i].view();
    known.push_back(v);
    in_ids.push_back(vulkan::kNoTensor);
    if (!v.present() || !vulkan::reads_input(op, i)) continue;
    WICK_ASSIGN(in_ids.back(), graph.add_input(v.dtype, v.shape));
    from.push_back(v.data);
  }
  for (const Value& v : out) {
    WICK_ASSIGN(vulkan::TensorId id, graph.add_temporary(v.view().dtype, v.view().shape));
    out_ids.push_back(id);
    to.push_back(v.view().data);
  }
  WICK_TRY(graph.add_call(op, s.attrs.get(), in_ids, out_ids, known));
  for (vulkan::TensorId id : out_ids) WICK_TRY(graph.add_output(id));
  WICK_TRY(graph.finish());
  return graph.run(from, to);
}

}  // namespace wick::test
