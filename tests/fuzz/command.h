// The commands of `wick` in this process.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/span.h"

namespace wick::fuzz {

// Once, before the first command: a folder of its own to work in, and nothing is printed.
void begin_commands();
// The exit code.
int run_command(const std::vector<std::string>& words);
// Into the folder.
void write_file(const std::string& name, Span<const uint8_t> bytes);

}  // namespace wick::fuzz
