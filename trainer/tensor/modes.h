// The state under which a thread's ops run; internal to the trainer.
#pragma once

#include <source_location>

#include "runtime/core/trace.h"

namespace wick {

struct AutocastState;
class Recorder;
class Saver;
class Watcher;

// The public function that the ops of a composite belong to, and the user's line.
struct CallSite {
  const char* name;
  std::source_location where;
};

struct Modes {
  bool grad = true;
  bool inference = false;
  uint64_t forward = 0;    // the dual level of forward mode; 0: none
  int run_depth = 0;       // number of nested backwards of this thread
  Saver* saver = nullptr;  // receives what would be saved for backward (gradient checkpointing)
  AutocastState* autocast = nullptr;  // the innermost scope that casts
  bool reference = false;
  int64_t copies = 0;       // see copies_made()
  bool track_views = true;  // false inside a backward that records nothing
  TraceHook* trace_hook = nullptr;
  int64_t trace_index = 0;
  const CallSite* site = nullptr;  // null: errors name the op itself
  Watcher* watcher = nullptr;      // the innermost one; null: none
  Recorder* recorder = nullptr;    // of compile_step(), while it records a step
};
Modes& modes();

}  // namespace wick
