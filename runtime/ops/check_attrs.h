// Checks the attributes of a node that do not depend on shapes. The loader calls it before anything
// else sees the node, and infer_shapes() calls it before every rule: so tools, devices and C code
// that read an attribute of a program or a graph never see an invalid enumerator.
#pragma once

#include "runtime/core/status.h"
#include "runtime/ops/op_info.h"

namespace wick {

// `inputs`: how many the node has. Attributes of custom ops are not checked: they belong to their
// library.
Status check_attrs(const OpInfo& info, const void* attrs, size_t inputs);

}  // namespace wick
