// Every file format that Wick reads and that a stranger may have written, except .wick itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/core/span.h"

namespace wick::fuzz {

struct Format {
  const char* name;
  std::vector<std::string> (*seeds)();
  // Words of it, put into files whole.
  std::vector<std::string> words;
  // Reads a file; throws wick::Error where it is none. Anything else is a fault.
  void (*read)(const std::string& bytes);
};

Span<const Format> formats();

// All bytes of a file; none where there is no such file.
std::string contents(const std::filesystem::path& path);

// Writes the bytes to a file for readers that take a path, and returns it.
std::string file_of(const std::string& name, const std::string& bytes);

// A reader may not hold more than this beyond what the process had: the files are small.
constexpr long kMostKiB = 1 << 20;

}  // namespace wick::fuzz
