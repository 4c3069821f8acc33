// A stage is a run of consecutive nodes of a region, planned together, and the one node behind them
// whose sizes only values decide (or which owns regions): that one runs by itself, and what follows
// is another stage, planned when the sizes are there. A region without such nodes is one stage.
#pragma once

#include "runtime/backend/backend.h"
#include "runtime/core/array.h"
#include "runtime/exec/session_memory.h"

namespace wick {

struct BoundPartition {
  Backend* backend = nullptr;
  uint32_t first = 0, count = 0;  // steps
  Partition* compiled = nullptr;
  Span<const uint32_t> inputs, outputs;  // values that cross its border
};

// A value made in a stage whose bytes are those of one that comes into it.
struct InputUse {
  uint32_t value, root;
};

// A value that comes into a stage, with the shape it was planned for.
struct Crossing {
  uint32_t value = 0;
  Shape shape;
};

// What the binder makes of a stage and nobody changes after it. It lives in one arena that the next
// plan reuses, so that shapes up to the largest seen cost no allocation.
struct StagePlan {
  explicit StagePlan(SessionMemory& memory) : arena(memory), allocator(arena) {}

  KeptArena arena;  // cleared by the next plan
  ArenaAllocator allocator;
  bool bound = false;
  uint32_t first = 0, end = 0;  // nodes [first, end); `end` runs by itself if it exists
  size_t first_step = 0;        // for traces
  Span<Crossing> crossing;
  Span<PlanStep> steps;
  Span<BoundPartition> partitions;
  Span<const char*> why;  // by step: why it is not on the session's backend; null: it is
  Span<InputUse> input_uses;
  Buffer memory;  // planned buffers, then scratch
  size_t planned_bytes = 0;
};

// The plan, and what the node at its end needs to run.
struct Stage {
  explicit Stage(SessionMemory& memory)
      : plan(memory), run_arena(memory), buffers(memory.allocator) {}

  Stage* next = nullptr;  // of its region; those behind the last bound one wait to be used again
  StagePlan plan;
  KeptArena run_arena;  // cleared at each run
  Array<Buffer> buffers;
  Buffer scratch;
  int64_t trip = 0;  // a Loop's own values
  uint8_t condition = 0;
};

}  // namespace wick
