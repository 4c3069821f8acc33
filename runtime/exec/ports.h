// The inputs and outputs of an entry, and what callers give for them.
#pragma once

#include "runtime/exec/session.h"
#include "runtime/exec/values.h"

namespace wick {

PortInfo port(const EntryDef& entry, uint32_t id);
int find_port(const EntryDef& entry, Span<const uint32_t> ids, const char* name);  // -1: none

// "x, mask": what a wrong name should have been.
struct NameList {
  char text[256];
};
NameList names_of(const EntryDef& entry, Span<const uint32_t> ids);

// Inputs whose count, dtypes, memory and contents are what the entry takes; shapes come with the
// binding.
Status check_inputs(const EntryDef& entry, Span<const TensorView> inputs);
Status check_output_count(const EntryDef& entry, Span<TensorView> outputs);
// Buffers that the caller gave, beside what the run gives.
Status check_outputs(const SessionValues& values, Span<TensorView> outputs);
// Shapes as the program declares them; sets the extents of its symbols.
Status bind_symbols(SessionValues& values, Span<const Shape> shapes);

}  // namespace wick
