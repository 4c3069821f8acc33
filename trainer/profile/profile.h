// What a Profiler has recorded: slices that nest, tables of them, and a trace file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/tensor_view.h"
#include "runtime/ops/op_cost.h"
#include "trainer/profile/roofline.h"

namespace wick {

enum class SliceKind : uint8_t { kRange, kModule, kNode, kKernel };

struct ProfileSlice {
  SliceKind kind = SliceKind::kRange;
  bool backward = false;      // inside of a gradient's formula
  int depth = 0;              // of slices around it
  int64_t parent = -1;        // number of the slice around it
  std::string name;           // "matmul"; "MulBackward0"; a range's or module's own
  std::string module, where;  // "encoder.fc1", "train.cpp:41"; of backward, those of the forward op
  std::string kernel;         // "matmul.f32.simd"
  std::string shapes;         // "float32[2,4] float32[4,3] -> float32[2,3]"
  uint64_t begin_ns = 0, end_ns = 0;  // since the profiler began
  OpCost cost;
  double seconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-9; }
};

// One line of a table.
struct ProfileRow {
  std::string name;
  int64_t calls = 0;
  double seconds = 0, backward_seconds = 0;  // the second is a part of the first
  double flops = 0, bytes = 0;
  std::string bound;   // "compute", "memory", "-"
  double of_roof = 0;  // of what the roofline allows, 0 to 1 (caches may carry it beyond)
};

// Where the time of the recorded steps went. `other`: outside of all of them.
struct StepAnatomy {
  int64_t steps = 0;  // optimizer steps, at least 1
  double loader = 0, zero_grad = 0, forward = 0, loss = 0, backward = 0, optimizer = 0, other = 0;
  double total() const {
    return loader + zero_grad + forward + loss + backward + optimizer + other;
  }
  std::string text() const;  // a line a part: milliseconds a step and percent
};

enum class ProfileBy { kOp, kModule, kLine, kKernel };

class Profile {
 public:
  std::vector<ProfileSlice> slices;  // in order of their beginnings: parents before children
  double seconds = 0;                // from the profiler's beginning to its end
  int64_t dropped = 0;               // slices beyond the limit, counted only
  int64_t views = 0;                 // calls that moved no bytes
  int threads = 1;

  // Most time first. By op, all time is accounted for: beside kernels there are "[loader]",
  // "[optimizer]" (its update is no op) and "[outside kernels]": dispatch, tape and your own code.
  std::vector<ProfileRow> rows(ProfileBy by, const Roofline& roof) const;
  // The first `top` rows as a table with times, rates and the roofline's verdict.
  std::string table(ProfileBy by = ProfileBy::kOp, size_t top = 10) const;
  std::string table(ProfileBy by, size_t top, const Roofline& roof) const;
  // Parts by their ranges; without one, "forward" is what runs in a module, and "loss" what lies
  // between that and backward.
  StepAnatomy anatomy() const;

  // Chrome's trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing open:
  // complete events in microseconds; arguments op, kernel, shapes, bytes, flops, module, line and
  // the roofline's verdict.
  std::string chrome_trace() const;
  std::string chrome_trace(const Roofline& roof) const;
  // Written at once; throws Error.
  void save_chrome_trace(const std::string& path) const;
};

}  // namespace wick
