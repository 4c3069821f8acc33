// A custom op whose functions are C callbacks (wick/c/ops.h).
#pragma once

#include "runtime/kernels/kernel.h"
#include "wick/c/ops.h"

namespace wick::c_api {

// It has pointers to its own parts, so it is made where it stays. Everything that is given a custom
// op (a query, a shape rule) has its address, by which the callbacks are found.
struct CallbackOp : CustomOp {
  wick_op_def def{};
  AttrType type{};
  KernelRow row{};
  CustomOpName full{};

  // Takes the definition; `room` has def.field_count places for its fields. The caller then checks
  // the op by check_custom_op().
  Status make(const wick_op_def& from, AttrField* room);
};

}  // namespace wick::c_api
