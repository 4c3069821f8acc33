// How much work a node is, before it runs: from its shapes, attributes and what of its inputs is
// known. Who runs nodes ahead of time (constant folding, binding) leaves what is too much of it to
// the run, which has a deadline.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/tensor_view.h"
#include "runtime/ops/op_id.h"

namespace wick {

// Multiply-adds, two FLOPs each; 0 for ops that are no products. Absent optional inputs may have
// any shape. In double: what a hostile file claims overflows integers.
double op_macs(OpId op, Span<const Shape> in, Span<const Shape> out);

// About as many steps as the kernel takes: bytes that it reads and writes (those of strings too),
// and what it does beyond a few steps for each of them. Not too few of these: a node of which
// nothing but its size is known counts as the worst of that size. Views without data are read by
// their shapes alone. A call without outputs or with regions is no work of its own.
double op_work(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out);

// What folding and binding may spend on nodes: a fraction of a second.
constexpr double kMostWorkAhead = 1e8;

}  // namespace wick
