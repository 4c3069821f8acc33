// Programs for a target, built and run.
#pragma once

#include <optional>
#include <string>

#include "tools/lib/deploy/project.h"

namespace wick::tool {

// Bytes of a program's parts, as its file has them (ELF, of 32 and 64 bits).
struct Sections {
  uint64_t code = 0;    // instructions and constants, the model's among them where it is inside
  uint64_t data = 0;    // what is written and has a value at the start
  uint64_t zeroed = 0;  // and none
};

struct Made {
  std::string program;               // its path
  uint64_t file_bytes = 0;           // stripped
  std::optional<Sections> sections;  // nothing: no ELF file
  bool ran = false, passed = false;  // of the smoke test
  uint64_t memory = 0;               // planned and packed bytes of the session that ran there
  uint64_t ram = 0;    // the most it took; 0: the target's start-up code does not tell
  std::string output;  // of the smoke test
};

std::optional<Sections> elf_sections(const std::string& path);

// Builds the project's smoke test for the target, the runtime first where it is not in the cache
// yet ($WICK_CACHE, else $XDG_CACHE_HOME/wick, else ~/.cache/wick), and runs it. Throws Error with
// the end of the compiler's output.
Made make(const Project& project, const DeployTarget& target, bool run, bool verbose);

}  // namespace wick::tool
