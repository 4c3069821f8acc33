// The inputs and outputs of an entry point, and checks of what callers give for them.
#pragma once

#include "runtime/exec/device_ports.h"
#include "runtime/exec/session.h"
#include "runtime/exec/values.h"

namespace wick {

PortInfo port(const EntryDef& entry, uint32_t id);
int find_port(const EntryDef& entry, Span<const uint32_t> ids, const char* name);  // -1: none

// Lists the valid names ("x, mask") for an error about a wrong one.
struct NameList {
  char text[256];
};
NameList names_of(const EntryDef& entry, Span<const uint32_t> ids);

// Kernels and shaders read a bool's byte as C++ does: refuses bytes other than 0 and 1.
Status check_bools(const TensorView& v);
// Checks that the inputs' count, dtypes, memory and contents are those that the entry takes; their
// shapes are checked while binding. Those on a device have no memory here.
Status check_inputs(const EntryDef& entry, Span<const TensorView> inputs,
                    const DevicePorts& device);
Status check_output_count(const EntryDef& entry, Span<TensorView> outputs);
// Checks the buffers that the caller gave against the run's outputs.
Status check_outputs(const SessionValues& values, Span<TensorView> outputs,
                     const DevicePorts& device);
// Checks shapes against the program's declaration and sets the extents of its symbols.
Status bind_symbols(SessionValues& values, Span<const Shape> shapes);

}  // namespace wick
