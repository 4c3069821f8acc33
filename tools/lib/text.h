// Text as files and as words of a shell.
#pragma once

#include <string>

namespace wick::tool {

// One word of a shell's command line.
std::string shell_quote(const std::string& text);
// A name of a file on one line: its line ends and tabs spelled out, as the terminal spells all
// other controls (runtime/core/printable.h), so that no name looks like a line of ours.
std::string one_line(const std::string& text);
// Replaces the file at once; throws Error with the reason.
void write_text(const std::string& path, const std::string& text);

}  // namespace wick::tool
