// TraceHook: by which a session, the interpreter and the trainer report each op they run.
#pragma once

#include <cstdint>

#include "runtime/core/span.h"
#include "runtime/core/tensor_view.h"

namespace wick {

// A step that ran.
struct TraceEvent {
  const char* op;             // op name
  const char* node;           // the node's name, or ""
  const char* kernel;         // kernel row's name
  const char* backend;        // "cpu", "vulkan"
  int64_t index;              // step number
  uint64_t begin_ns, end_ns;  // of the steady clock
  // Its inputs and outputs, valid during the call.
  Span<const TensorView> in;
  Span<const TensorView> out;
};

// Hears of each step of a session, or of each kernel that the trainer runs.
class TraceHook {
 public:
  // Called after each step.
  virtual void on_op(const TraceEvent& event) = 0;

  // Returns whether on_op() reads values whose channels lie in blocks (TensorView::block;
  // copy_plain() in runtime/core/plain_copy.h). A session whose hook does not keeps every value
  // plain: same bits, slower convolutions. A hook that measures time, or looks at shapes alone,
  // says true.
  virtual bool takes_blocks() const { return false; }

 protected:
  ~TraceHook() = default;
};

}  // namespace wick
