// The values of an entry, by id: constants for as long as the session lives, the others as the
// present plans and the present run have them.
#pragma once

#include "runtime/backend/backend.h"
#include "runtime/core/arena.h"
#include "runtime/ops/rule.h"
#include "runtime/program/program.h"

namespace wick {

constexpr size_t kMaxEvaluated = 64 * 1024;  // bytes in and out of a step evaluated by a plan

struct SessionValues {
  SessionValues(const Program& p, const EntryDef& e, Allocator& allocator, size_t max_ram)
      : program(p), entry(e), frame(allocator, max_ram) {}

  // Once, before the first plan. `all`: a device or a hook may look at any constant.
  Status prepare(bool all);

  PlanValue& operator[](uint32_t id) { return planned[id]; }
  const PlanValue& operator[](uint32_t id) const { return planned[id]; }
  size_t size() const { return planned.size(); }
  // A view of what a plan knows of it; data is null where only a run has it. kNoIndex: no tensor.
  TensorView as_planned(uint32_t id) const;

  // The dtype is the one that a rule, a kernel or a caller gave the bytes, never what the file says
  // of the value: were they to differ, bytes would be read as something else.
  Status set(uint32_t id, void* data, DType dtype, const Shape& shape);
  // Value `to` is value `from` under another id: what goes into a region or comes out of it.
  Status hand_on(uint32_t from, uint32_t to);
  // kInvalidProgram where the program declares another dtype, or another type or shape.
  Status check_dtype(uint32_t id, DType dtype) const;
  Status check_declared(uint32_t id) const;

  const Program& program;
  const EntryDef& entry;
  Arena frame;               // what follows
  Span<PlanValue> planned;   // data: constants, and what a plan computed
  Span<TensorView> views;    // of the present run
  Span<uint32_t> last_use;   // last node that reads it in its region; kNoIndex: the region's output
  bool has_strings = false;  // there are values of strings
  Span<int64_t> symbols;     // extent by symbol, -1: not bound

 private:
  Status keep(const ConstantDef& c, PlanValue* value, TensorView* view);
  Status fill_read(Span<PlanValue> constants, bool all) const;
};

// The integers of a small int tensor with data, as the rules read them; of `reals` the bits.
// Of a sequence or an optional: its packed bytes.
constexpr int64_t kMaxElements = 256;  // of an int tensor whose values a rule may read
Status read_elements(const TensorView& v, bool reals, Arena& arena, ValueInfo<int64_t>* info,
                     int64_t limit = kMaxElements);

}  // namespace wick
