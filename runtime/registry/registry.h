// The custom ops of a process, for the code above the runtime: trainer, graph, exporter, tools. It
// is a library of its own (Wick::registry), which the runtime never links. Ops are registered by an
// explicit call and stay until the process ends, because tensors and graphs refer to them. Every
// function may be called from any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/ops/custom_op.h"
#include "wick/error.h"

namespace wick {

// Registers the op; the id is valid for call(), for graphs and for the look-ups below. Registering
// the same op again returns the same id. Throws Error when the op is malformed or another op has
// its name.
OpId register_op(const CustomOp& op,
                 const std::source_location& where = std::source_location::current());

// Registers every op of a library (WICK_EXPORT_OPS) and returns them in the library's order.
// Loading the same file again returns the same ops. Throws Error (kNotFound, kIo; kUnsupported:
// built for another version of the interface; kInvalidArgument: an op is malformed, or its name is
// taken).
std::vector<const CustomOp*> load_ops(
    const std::string& path, const std::source_location& where = std::source_location::current());

// Like find_op(), but finds the ops registered here ("example::Swish") as well as those of ops.def.
// Null: unknown.
const OpInfo* op_info(OpId id);
const OpInfo* op_info(const char* name);
// Return null where it is not a custom op.
const CustomOp* find_custom_op(OpId id);
const CustomOp* find_custom_op(const std::string& domain, const std::string& name);
OpId custom_op_id(const CustomOp& op);  // kNone: not registered

// Returns the ops in order of registration: what LoadOptions::custom_ops takes.
std::vector<const CustomOp*> registered_ops();
// Returns "example::Swish, example::Clamp", or "none": for errors about an unknown name.
std::string registered_op_names();

}  // namespace wick
