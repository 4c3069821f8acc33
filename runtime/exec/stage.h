// A stage is a run of consecutive nodes of a region that are planned together, and the node after
// them, whose sizes depend on values or which owns regions. That node runs by itself, and what
// follows is another stage, planned when the sizes are known. A region without such nodes is one
// stage.
#pragma once

#include "runtime/backend/backend.h"
#include "runtime/core/array.h"
#include "runtime/exec/session_memory.h"

namespace wick {

struct BoundPartition {
  Backend* backend = nullptr;
  uint32_t first = 0, count = 0;  // steps
  Partition* compiled = nullptr;
  Span<const uint32_t> inputs, outputs;  // values that enter or leave it
};

// A value made in a stage whose bytes are those of a value that enters it (`root`).
struct InputUse {
  uint32_t value, root;
};

// A value that enters a stage, with the shape it was planned for.
struct Crossing {
  uint32_t value = 0;
  Shape shape;
};

// The binder's result for a stage, constant from then on. It is in one arena that the next plan
// reuses, so that shapes up to the largest seen need no allocation.
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
  Span<const char*> why;  // why each step is not on the session's backend; null: it is
  Span<InputUse> input_uses;
  Buffer memory;  // planned buffers, then scratch
  size_t planned_bytes = 0;
};

// A stage's plan, and what the node at its end needs to run.
struct Stage {
  explicit Stage(SessionMemory& memory)
      : plan(memory), run_arena(memory), buffers(memory.allocator) {}

  Stage* next = nullptr;  // the region's next stage; unbound ones are kept for reuse
  StagePlan plan;
  KeptArena run_arena;  // cleared at each run
  Array<Buffer> buffers;
  Buffer scratch;
  int64_t trip = 0;  // a Loop's own inputs
  uint8_t condition = 0;
};

}  // namespace wick
