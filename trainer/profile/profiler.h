// Profiler: records what a thread runs, for the tables and the trace in profile.h.
//
//   Profiler profiler;
//   for (int i = 0; i < 10; ++i) step();
//   std::cout << profiler.stop().table();
//
// It observes kernels, calls, backward's nodes, modules, optimizer steps, waits for a loader and
// your own ProfileRange. It costs nothing when off, and about 0.3 us per slice when on
// (docs/use/profile.md has the measurements). It does not change any result.
#pragma once

#include <memory>

#include "runtime/core/trace.h"
#include "trainer/profile/profile.h"
#include "trainer/profile/range.h"
#include "trainer/tensor/tensor.h"
#include "trainer/tensor/watcher.h"

namespace wick {

// Options of Profiler.
struct ProfilerOptions {
  // Further slices are only counted: a forgotten profiler must not use up the memory.
  size_t max_slices = size_t{1} << 20;
};

// Records the thread that makes it; scopes nest. Loader workers and the pool's threads are not
// recorded, but waiting for them is.
class Profiler final : Watcher, TraceHook, RangeListener {
 public:
  explicit Profiler(ProfilerOptions options = {});
  ~Profiler() override;
  // Ends the recording; later calls return the same profile.
  const Profile& stop();

 private:
  struct Recorded;
  void on_op(const TraceEvent& event) override;
  void on_call(const TracedCall& call) override;
  void on_node_begin(const Node& node, Span<const Tensor> grads) override;
  void on_node_end(const Node& node, Span<const Tensor> grads, Span<const Tensor> results) override;
  void on_range_begin(const char* name, RangeKind kind) override;
  void on_range_end(const char* name, RangeKind kind) override;
  void open(Recorded&& slice);
  void close(size_t level, uint64_t now);

  ProfilerOptions options_;
  TraceHook* saved_;
  bool on_ = true;
  uint64_t begin_;
  std::vector<Recorded> recorded_;
  std::vector<int64_t> stack_;  // indices of the open slices; -1: a dropped one
  int64_t last_kernel_ = -1;    // the kernel whose call was not reported yet
  Profile profile_;
};

}  // namespace wick
