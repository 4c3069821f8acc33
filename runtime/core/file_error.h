// Error codes and texts for failed file calls (runtime/platform/files.h).
#pragma once

#include <cstring>

#include "runtime/core/status.h"
#include "runtime/platform/files.h"

namespace wick {

inline Code file_code() { return platform::kHasFiles ? Code::kIo : Code::kUnsupported; }

// Returns the text for `cause`, a value of errno.
inline const char* file_words(int cause) {
  if constexpr (!platform::kHasFiles) return "this build has no files: load the model from memory";
  return strerror(cause);
}

}  // namespace wick
