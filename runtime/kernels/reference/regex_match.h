// RE2 behind a border that no exception passes.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/status.h"
#include "runtime/core/string_ref.h"

namespace wick::reference {

// matched[i]: whether all of texts[i] matches. kInvalidArgument where RE2 does not take the
// pattern, kOutOfMemory where the memory that RE2 asks operator new for is not there.
Status match_whole(const StringRef& pattern, Span<const StringRef> texts, uint8_t* matched);

}  // namespace wick::reference
