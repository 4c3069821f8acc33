// What the commands say. All of it passes here: names of a file are escaped whoever prints them,
// and what could not be written is not forgotten.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <utility>

namespace wick::tool {

void print_text(std::FILE* out, const std::string& text);

template <class... Args>
void say(std::FILE* out, fmt::format_string<Args...> form, Args&&... args) {
  print_text(out, fmt::format(form, std::forward<Args>(args)...));
}
template <class... Args>
void say(fmt::format_string<Args...> form, Args&&... args) {
  print_text(stdout, fmt::format(form, std::forward<Args>(args)...));
}

// Flushes stdout. Throws Error where any of what was printed there, since the process began, did
// not arrive: a disk is full, nobody reads.
void finish_output();

}  // namespace wick::tool
