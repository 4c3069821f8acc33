// Shared by the kernels that make strings.
#pragma once

#include "runtime/core/string_ref.h"
#include "runtime/core/utf8.h"
#include "runtime/kernels/reference/rows.h"

namespace wick::reference {

// Allocates bytes that live as long as the outputs are read.
inline Result<void*> string_room(const KernelCtx& ctx, uint64_t bytes, size_t align = 1) {
  if (ctx.strings == nullptr)
    return Status(Code::kUnsupported, "strings are made in sessions and by the interpreter only");
  if (bytes > SIZE_MAX / 2) return Status(Code::kBudgetExceeded, "a string of that size");
  return ctx.strings->allocate(static_cast<size_t>(bytes), align);
}

}  // namespace wick::reference
