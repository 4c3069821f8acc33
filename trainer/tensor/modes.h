// What a thread's ops run under; internal to the trainer.
#pragma once

#include "runtime/core/trace.h"

namespace wick {

struct Modes {
  bool grad = true;
  bool reference = false;
  TraceHook* trace_hook = nullptr;
  int64_t trace_index = 0;
};
Modes& modes();

}  // namespace wick
