// What a thread's ops run under; internal to the trainer.
#pragma once

#include "runtime/core/trace.h"

namespace wick {

class Saver;
class Watcher;

struct Modes {
  bool grad = true;
  bool inference = false;
  uint64_t forward = 0;    // the dual level forward mode runs at; 0: none
  int run_depth = 0;       // backwards this thread is inside of
  Saver* saver = nullptr;  // takes what would be saved for backward (gradient checkpointing)
  bool reference = false;
  int64_t copies = 0;       // see copies_made()
  bool track_views = true;  // false inside a backward that records nothing
  TraceHook* trace_hook = nullptr;
  int64_t trace_index = 0;
  Watcher* watcher = nullptr;  // the innermost one; null: nobody explains
};
Modes& modes();

}  // namespace wick
