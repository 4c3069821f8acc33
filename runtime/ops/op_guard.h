// Turns what a user's op throws into a Status. The runtime has no exceptions and cannot be unwound,
// so this is compiled with the op: custom_op.h includes it where the code has exceptions.
#pragma once

#include <cstdio>
#include <exception>

#include "runtime/ops/rule.h"
#include "runtime/platform/system.h"

namespace wick {

class OpDim;  // custom_op.h

// Returns the exception that is being handled as an error of `who`, "its shape rule". The functions
// of this header are static: a program is linked of code with and without exceptions, and each part
// keeps its own.
[[maybe_unused]] static Status thrown_status(const char* who) {
  static WICK_THREAD_LOCAL char text[256];
  try {
    throw;
  } catch (const std::exception& e) {
    snprintf(text, sizeof(text), "%s threw: %s", who, e.what());
  } catch (...) {
    snprintf(text, sizeof(text), "%s threw what is no std::exception", who);
  }
  return Status(Code::kInvalidArgument, text);
}

// Calls a shape rule (CustomOp::guard).
[[maybe_unused]] static Status call_guarded(Status (*rule)(RuleCtx<OpDim>&), RuleCtx<OpDim>& c) {
  try {
    return rule(c);
  } catch (...) {
    return thrown_status("its shape rule");
  }
}

}  // namespace wick
