// What the attributes of a node must be whatever its shapes are. The loader asks before anyone sees
// the node, and every rule is asked behind it: tools, devices and C code that read an attribute of
// a program or of a graph meet no number that stands for nothing.
#pragma once

#include "runtime/core/status.h"
#include "runtime/ops/op_info.h"

namespace wick {

// `inputs`: how many the node has. Attributes of a user's op are its owner's: all are sound.
Status check_attrs(const OpInfo& info, const void* attrs, size_t inputs);

}  // namespace wick
