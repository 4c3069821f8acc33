// What a thread's ops run under; internal to the trainer.
#pragma once

#include "runtime/core/trace.h"

namespace wick {

class Watcher;

struct Modes {
  bool grad = true;
  bool inference = false;
  bool reference = false;
  int64_t copies = 0;       // see copies_made()
  bool track_views = true;  // false inside a backward that records nothing
  TraceHook* trace_hook = nullptr;
  int64_t trace_index = 0;
  Watcher* watcher = nullptr;  // the innermost one; null: nobody explains
};
Modes& modes();

}  // namespace wick
