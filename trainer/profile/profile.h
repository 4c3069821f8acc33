// The recording of a Profiler: nested slices, tables of them, and a trace file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/tensor_view.h"
#include "runtime/ops/op_cost.h"
#include "trainer/profile/roofline.h"

namespace wick {

// A slice is a named range, a module's forward, a node of the graph, or a kernel.
enum class SliceKind : uint8_t { kRange, kModule, kNode, kKernel };

// A stretch of time of one thread.
struct ProfileSlice {
  SliceKind kind = SliceKind::kRange;  // what it is
  bool backward = false;               // inside of a gradient formula
  int depth = 0;                       // number of enclosing slices
  int64_t parent = -1;                 // index of the enclosing slice
  std::string name;                    // "matmul"; "MulBackward0"; name of a range or module
  std::string module, where;  // "encoder.fc1", "train.cpp:41"; in backward, those of the forward op
  std::string kernel;         // "matmul.f32.simd"
  std::string shapes;         // "float32[2,4] float32[4,3] -> float32[2,3]"
  uint64_t begin_ns = 0, end_ns = 0;  // since the profiler started
  OpCost cost;                        // of a kernel
  // Returns its length.
  double seconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-9; }
};

// One line of a table.
struct ProfileRow {
  std::string name;                          // the op's, module's, line's or kernel's
  int64_t calls = 0;                         // number of slices
  double seconds = 0, backward_seconds = 0;  // the second is part of the first
  double flops = 0, bytes = 0;               // of all calls
  std::string bound;                         // "compute", "memory", "-"
  double of_roof = 0;  // share of what the roofline allows, 0 to 1 (caches may exceed it)
};

// The time of the recorded steps by part. `other`: outside of all parts.
struct StepAnatomy {
  int64_t steps = 0;  // number of optimizer steps, at least 1
  // Seconds of all steps in each part.
  double loader = 0, zero_grad = 0, forward = 0, loss = 0, backward = 0, optimizer = 0, other = 0;
  // Returns the sum of all parts.
  double total() const {
    return loader + zero_grad + forward + loss + backward + optimizer + other;
  }
  std::string text() const;  // one line per part: milliseconds per step and percent
};

// A table has a row for each op, module, line or kernel.
enum class ProfileBy { kOp, kModule, kLine, kKernel };

// Holds what a Profiler recorded.
class Profile {
 public:
  std::vector<ProfileSlice> slices;  // ordered by begin: parents before children
  double seconds = 0;                // between the start and the end of the profiler
  int64_t dropped = 0;               // slices beyond the limit, only counted
  int64_t views = 0;                 // calls that moved no bytes
  int threads = 1;                   // num_threads() while it was recorded

  // Returns the rows, most time first. By op, all time is accounted for: besides kernels there are
  // "[loader]", "[optimizer]" (its update is not an op) and "[outside kernels]": dispatch,
  // recording and your own code.
  std::vector<ProfileRow> rows(ProfileBy by, const Roofline& roof) const;
  // The first `top` rows as a table with times, rates and the roofline's verdict.
  std::string table(ProfileBy by = ProfileBy::kOp, size_t top = 10) const;
  std::string table(ProfileBy by, size_t top, const Roofline& roof) const;
  // Computes the parts from their ranges. Without a range, "forward" is the time in modules, and
  // "loss" the time between that and backward.
  StepAnatomy anatomy() const;

  // Returns Chrome's trace event format, for Perfetto (ui.perfetto.dev) and chrome://tracing:
  // complete events in microseconds, with the arguments op, kernel, shapes, bytes, flops, module,
  // line and the roofline's verdict.
  std::string chrome_trace() const;
  std::string chrome_trace(const Roofline& roof) const;
  // Returns the events alone, with commas between them, for a file of several recordings: those of
  // this one are of that process and thread. Without the roofline's verdict.
  std::string chrome_events(int process, int track) const;
  // Writes the file atomically; throws Error.
  void save_chrome_trace(const std::string& path) const;
};

}  // namespace wick
