// What the passes fused, written as plain nodes again: the graph has its own form in formats
// without fused ops, and not a bit changes.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"

namespace wick::ir {

inline bool is_fused_op(OpId op) {
  return op == OpId::kFusedConv || op == OpId::kFusedLinear || op == OpId::kFusedMatMul ||
         op == OpId::kFusedElementwise || op == OpId::kFusedAttention || op == OpId::kBlockLinear;
}

// `want` is what the graph computes of `in`.
inline void expect_unfused(const Graph& fused, const std::vector<HostTensor>& in,
                           const std::vector<HostTensor>& want) {
  Graph plain = fused;
  const Pass pass[] = {kUnfuse};
  run_passes(plain, pass);  // verifies the graph, too
  for (const Node& n : plain.nodes()) EXPECT_FALSE(is_fused_op(n.op)) << print(plain);
  for (size_t i = 0; i < plain.outputs().size(); ++i)
    EXPECT_EQ(plain.outputs()[i].name, fused.outputs()[i].name);
  const std::vector<HostTensor> got = run(plain, in);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(same_bits(got[i], want[i])) << "unfused, output " << i << "\n"
                                            << print(fused) << print(plain);
  }
}

}  // namespace wick::ir
