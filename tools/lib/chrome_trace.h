// The steps of a session's runs in Chrome's trace event format, which Perfetto (ui.perfetto.dev)
// and chrome://tracing open: `wick run --trace FILE.json` writes it. A training run's is
// Profile::chrome_trace() (trainer/profile/profile.h).
#pragma once

#include <string>
#include <vector>

#include "runtime/core/trace.h"

namespace wick::tool {

class ChromeTrace final : public TraceHook {
 public:
  void on_op(const TraceEvent& event) override;
  bool takes_blocks() const override { return true; }
  // Returns the document: a complete event per step, in microseconds since the first one began,
  // with a row for the CPU and one for the device.
  std::string text() const;

 private:
  // Further steps are only counted: a Loop may have any number of them.
  static constexpr size_t kMostSteps = size_t{1} << 17;
  struct Step {
    std::string op, node, kernel, backend, shapes;
    int64_t index;
    uint64_t begin_ns, end_ns;
  };
  std::vector<Step> steps_;
  size_t dropped_ = 0;
};

}  // namespace wick::tool
