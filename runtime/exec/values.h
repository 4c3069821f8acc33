// The values of an entry, by id: constants as long as the session lives, the others as in the
// present plans and the present run.
#pragma once

#include "runtime/backend/backend.h"
#include "runtime/core/arena.h"
#include "runtime/ops/rule.h"
#include "runtime/program/program.h"

namespace wick {

constexpr size_t kMaxEvaluated = 64 * 1024;  // limit for evaluating while planning

struct SessionValues {
  SessionValues(const Program& p, const EntryDef& e, Allocator& a, size_t max_ram)
      : program(p), entry(e), allocator(a), frame(a, max_ram) {}

  // Call it once, before the first plan. `all`: a device or a hook may look at any constant.
  Status prepare(bool all);

  PlanValue& operator[](uint32_t id) { return planned[id]; }
  const PlanValue& operator[](uint32_t id) const { return planned[id]; }
  size_t size() const { return planned.size(); }
  // Returns what a plan knows of the value; data is null where only a run has it. kNoIndex: no
  // tensor.
  TensorView as_planned(uint32_t id) const;

  // Sets a value. The dtype must be the one that a rule, a kernel or a caller gave the bytes, not
  // the one that the file declares: if they differed, bytes would be read as another type.
  Status set(uint32_t id, void* data, DType dtype, const Shape& shape);
  // Makes value `to` an alias of value `from`: for what enters a region or leaves it.
  Status hand_on(uint32_t from, uint32_t to);
  // Returns whether the value is written where its state is.
  bool writes_state(uint32_t id) const { return !is_state.empty() && is_state[id] != 0; }
  // Return kInvalidProgram where the program declares another dtype, or another type or shape.
  Status check_dtype(uint32_t id, DType dtype) const;
  Status check_declared(uint32_t id) const;

  const Program& program;
  const EntryDef& entry;
  Allocator& allocator;
  Arena frame;               // what follows
  Span<PlanValue> planned;   // data: constants, and what a plan computed
  Span<TensorView> views;    // of the present run
  Span<uint32_t> last_use;   // last node that reads it in its region; kNoIndex: the region's output
  size_t most_operands = 0;  // of one node: its inputs and outputs
  bool has_strings = false;  // whether there are string values
  Span<uint8_t> in_place;    // by update of a state: 1 where it is written in place
  Span<uint8_t> is_state;    // 1 for the values that such updates make; empty: there are none
  Span<int64_t> symbols;     // extent of each symbol; -1: not bound

 private:
  Status prepare_updates();
  Status keep(const ConstantDef& c, PlanValue* value, TensorView* view);
  Status fill_read(Span<PlanValue> constants, bool all) const;
};

// Reads the integers of a small int tensor with data, as rules need them; with `reals` the bits of
// its floats. For a sequence or an optional reads its packed bytes.
constexpr int64_t kMaxElements = 256;  // largest int tensor whose values a rule may read
Status read_elements(const TensorView& v, bool reals, Arena& arena, ValueInfo<int64_t>* info,
                     int64_t limit = kMaxElements);

}  // namespace wick
