// Encloses RE2, so that no exception leaves this function.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/status.h"
#include "runtime/core/string_ref.h"

namespace wick::reference {

// Sets matched[i] to whether all of texts[i] matches. kInvalidArgument where RE2 rejects the
// pattern, kOutOfMemory where operator new fails in RE2.
Status match_whole(const StringRef& pattern, Span<const StringRef> texts, uint8_t* matched);

}  // namespace wick::reference
