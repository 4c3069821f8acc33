// Prints each op as it runs.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/core/trace.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/watcher.h"

namespace wick {

// Options of TraceOps.
struct TraceOptions {
  bool times = true;  // kernel time in microseconds
  bool detail =
      false;  // all stages of an op: call, shapes, dispatch, kernel, node; several lines each
};

// While it lives, every op of this thread, also in backward, is printed as a line:
//   3 fc1 linear f32[2,4] f32[3,4] f32[3] -> f32[2,3] Linear.f32.simd 1.2 us (train.cpp:41)
// A view has no kernel: "view". A kernel that an op runs besides its own (a copy, a sum of
// gradients) gets a line of its own, without a source line.
class TraceOps final : Watcher, TraceHook {
 public:
  // `out` must outlive it.
  explicit TraceOps(std::ostream& out, TraceOptions options = {});
  ~TraceOps() override;

 private:
  struct Ran {
    std::string op, kernel, text;
    double us;
  };
  void on_op(const TraceEvent& event) override;
  void on_call(const TracedCall& call) override;
  void on_node_begin(const Node& node, Span<const Tensor> grads) override;
  void on_node_end(const Node& node, Span<const Tensor> grads, Span<const Tensor> results) override;
  void flush(size_t keep = 0);
  void detail(const TracedCall& call, const Ran* ran);
  std::string time_text(double us) const;

  std::ostream& out_;
  TraceOptions options_;
  TraceHook* saved_;
  std::vector<Ran> ran_;  // kernels whose call was not reported yet
  int64_t number_ = 0;
};

}  // namespace wick
