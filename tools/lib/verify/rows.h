// What verify_model() and what it is made of share: samples, and how a row is filled in.
#pragma once

#include "tools/lib/verify/session_values.h"
#include "tools/lib/verify/verify.h"

namespace wick::tool {

struct VerifySample {
  std::string sizes;  // "batch=3"
  std::vector<HostTensor> inputs;
  ir::GivenValues truth;
  bool extra = false;  // large, or with values at the edges: left out where that takes too long
  bool not_finite = false;  // NaN and infinities among them
};

// A sample for each of `sizes` of every free dim that `dims` does not name, brought into its
// bounds; sizes that come out equal once. A size over 16 comes twice where several dims are free:
// first with 2 for the first of them, mostly the batch. With `edges` a model of floats has two
// samples more, whose values are at the edges (SampleValues).
std::vector<VerifySample> size_samples(const Session& session, const Program& program,
                                       const std::vector<std::string>& dims,
                                       const std::vector<int64_t>& sizes, bool edges = false);

// Values that a file has no names for go by those of the graph, where that has the same nodes in
// the same order.
void take_names(ir::Graph* file, const ir::Graph& graph);

// The row differs, first at this value of the graph.
void set_first(VerifyRow* row, const ir::Graph& graph, ir::ValueId value, const HostTensor& truth,
               const HostTensor& got, const ir::Apart& apart, double bound);
void set_spoiled(VerifyRow* row, const ir::Graph& graph, const Spoiled& spoiled);

}  // namespace wick::tool
