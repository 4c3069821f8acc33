// Formats text for files and for a shell.
#pragma once

#include <cstdint>
#include <string>

namespace wick::tool {

// Returns the text as one word of a shell's command line.
std::string shell_quote(const std::string& text);
// Returns a file's name on one line, with its line ends and tabs spelled out, as the terminal
// spells all other control characters (runtime/core/printable.h), so that no name looks like a line
// of ours.
std::string one_line(const std::string& text);
// Returns "1 image", "2 images".
std::string counted(int64_t n, const std::string& what);
// Makes a folder and those that it lies in, unless they are there. Throws Error with the reason.
void make_folder(const std::string& path);
// Replaces the file atomically; throws Error with the reason.
// Throws Error if the file is a symbolic link. For files that are named by Wick, in a folder that a
// stranger may have made: it would be written wherever the link leads.
void refuse_link(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace wick::tool
