// What reaches the terminal. Names come from files that nobody trusts: an escape sequence in one of
// them would move the cursor, change colours or rewrite what was printed. So that no line of code
// can forget it, stdout and stderr themselves write such characters as \u001b, which is also how JSON writes
// them.
#pragma once

#include <cstdio>
#include <string>

namespace wick::tool {

// From here on stdout and stderr are guarded. Once, before anything is printed.
void guard_output();
// stderr as it is, for a progress bar that moves the cursor itself and prints no names.
std::FILE* plain_stderr();
// Flushes both. False: something could not be written to stdout (a full disk), which is said.
bool end_output();

// The text as a guarded stream writes it: control characters but newlines and tabs, what turns the
// direction of text or ends lines beyond ASCII, and bytes that are not UTF-8 are spelled out.
std::string escaped(const std::string& text);

}  // namespace wick::tool
