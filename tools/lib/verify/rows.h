// Shared by verify_model() and its parts: samples, and how a row is filled in.
#pragma once

#include <functional>
#include <optional>

#include "tools/lib/verify/session_values.h"
#include "tools/lib/verify/verify.h"
#include "wick/error.h"

namespace wick::tool {

struct VerifySample {
  std::string sizes;  // "batch=3"
  std::vector<HostTensor> inputs;
  ir::GivenValues truth;
  bool extra = false;       // large, or with edge values: left out if it takes too long
  bool not_finite = false;  // has NaN and infinities
};

// Returns a sample for each of `sizes`, which every free dim that `dims` does not name gets,
// clamped to its bounds; equal samples once. With several free dims a size over 16 comes twice:
// first with 2 for the first of them, which is mostly the batch. With `edges` a model of floats
// gets two samples more, whose values are edge cases (SampleValues).
std::vector<VerifySample> size_samples(const Session& session, const Program& program,
                                       const std::vector<std::string>& dims,
                                       const std::vector<int64_t>& sizes, bool edges = false);

// Returns the first sample that `run` computes without an Error at sizes of which a model may need
// one: 2, 4 ... 512, for every free dim that `dims` does not name. The first of several, mostly the
// batch, stays 1 or 2. Nothing: there is none, or one ran out (ran_out()).
std::optional<VerifySample> larger_sample(const Session& session, const Program& program,
                                          const std::vector<std::string>& dims,
                                          const std::function<void(VerifySample*)>& run);

// Returns whether time, memory or a caller's limit ran out, so that nothing is known of the
// numbers.
bool ran_out(const Error& e);

// Gives a file's unnamed values, constants too, the names in the graph, if that has the same nodes
// in the same order.
void take_names(ir::Graph* file, const ir::Graph& graph);

// Returns "float32 [1,8]", or "sequence of 3 float32".
std::string type_of(const HostTensor& t);
// Says which element differs, and how; `why` where that is no number.
void set_element(FirstDifference* f, const HostTensor& truth, const HostTensor& got,
                 const ir::Apart& apart);
// Marks the row as differing, first at this value of the graph, or of its region at a place.
void set_first(VerifyRow* row, const ir::Graph& graph, ir::ValueId value, const HostTensor& truth,
               const HostTensor& got, const ir::Apart& apart, double bound,
               const ir::Place& place = {});
// Which of the two values beside each other is the right one.
enum class Side { kMadeIsTruth, kGivenIsTruth };
// Computes each node of a graph from the values given, and marks the row at the first that differs.
void compare_beside(const ir::Graph& graph, Span<const HostTensor> inputs,
                    const ir::GivenValues& given, ir::Promise promise, Side side,
                    const ir::InterpreterOptions& options, VerifyRow* row);
void set_spoiled(VerifyRow* row, const ir::Graph& graph, const Spoiled& spoiled);

}  // namespace wick::tool
