// The compiler of inline sources: which it is, how it is called, and what it says.
#pragma once

#include <string>
#include <vector>

#include "trainer/inline/load_inline.h"

namespace wick {

using Words = std::vector<std::string>;

// Returns the command without the names of its files. `beside`: a folder for the source's own
// includes, or "". Throws Error (kNotFound) where Wick's headers are not found.
Words compiler_command(const InlineOptions& options, const std::string& beside, const Where& where);

struct CompilerRun {
  bool started = false;
  int code = 0;
  std::string said;  // on its standard output and error
};
// Runs the command to its end.
CompilerRun run_compiler(const Words& command);

}  // namespace wick
