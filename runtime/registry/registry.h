// The custom ops of a process, for what stands above the runtime: trainer, graph, exporter, tools.
// A library of its own (Wick::registry) that the runtime never links. Ops come in by an explicit
// call and stay until the process ends, because tensors and graphs refer to them. Every function
// may be called from any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/ops/custom_op.h"
#include "wick/error.h"

namespace wick {

// Makes the op known; its id is good for call(), graphs and find_op-like look-ups below. The same
// op again gives the same id. Throws Error: not sound, or another op has its name.
OpId register_op(const CustomOp& op,
                 const std::source_location& where = std::source_location::current());

// Every op of a library (WICK_EXPORT_OPS), registered, in the library's order. The same file again
// gives the same ops. Throws Error (kNotFound, kIo, kUnsupported: built for another version of the
// interface, kInvalidArgument: an op of it is not sound, or its name is taken).
std::vector<const CustomOp*> load_ops(
    const std::string& path, const std::source_location& where = std::source_location::current());

// What find_op() is for rows of ops.def: those, and the ops registered here ("example::Swish").
// Null: unknown.
const OpInfo* op_info(OpId id);
const OpInfo* op_info(const char* name);
// Null: not a custom op.
const CustomOp* find_custom_op(OpId id);
const CustomOp* find_custom_op(const std::string& domain, const std::string& name);
OpId custom_op_id(const CustomOp& op);  // kNone: not registered

// In order of registration: what LoadOptions::custom_ops takes.
std::vector<const CustomOp*> registered_ops();
// "example::Swish, example::Clamp", or "none": for errors about a name that is not there.
std::string registered_op_names();

}  // namespace wick
