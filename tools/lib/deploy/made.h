// Builds and runs programs for a target.
#pragma once

#include <optional>
#include <string>

#include "tools/lib/deploy/project.h"

namespace wick::tool {

// The bytes of a program's parts, as its ELF file (of 32 or 64 bits) has them.
struct Sections {
  uint64_t code = 0;    // instructions and constants, the model's too if it is inside
  uint64_t data = 0;    // writable, with a value at the start
  uint64_t zeroed = 0;  // writable, zero at the start
};

struct Made {
  std::string program;               // its path
  uint64_t file_bytes = 0;           // stripped
  std::optional<Sections> sections;  // nothing: it is no ELF file
  bool ran = false, passed = false;  // the smoke test
  uint64_t memory = 0;               // planned and packed bytes of the session that ran there
  uint64_t ram = 0;    // the most RAM that it took; 0: the target's start-up code does not tell
  std::string output;  // of the smoke test
};

std::optional<Sections> elf_sections(const std::string& path);

// Builds the project's smoke test for the target, and first the runtime if it is not in the cache
// yet ($WICK_CACHE, else $XDG_CACHE_HOME/wick, else ~/.cache/wick), and runs it. Throws Error with
// the end of the compiler's output.
Made make(const Project& project, const DeployTarget& target, bool run, bool verbose);

}  // namespace wick::tool
