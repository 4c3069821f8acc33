// Text as files and as words of a shell.
#pragma once

#include <string>

namespace wick::tool {

// One word of a shell's command line.
std::string shell_quote(const std::string& text);
// Replaces the file at once; throws Error with the reason.
void write_text(const std::string& path, const std::string& text);

}  // namespace wick::tool
