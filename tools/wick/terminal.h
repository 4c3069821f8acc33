// Guards what reaches the terminal. Names come from files that nobody trusts: an escape sequence in
// one of them would move the cursor, change colours or rewrite what was printed. So that no line of
// code can forget it, stdout and stderr themselves write such characters as \u001b, which is also
// how JSON writes them.
#pragma once

#include <cstdio>

namespace wick::tool {

// Guards stdout and stderr from here on. Call it once, before anything is printed.
void guard_output();
// Returns the unguarded stderr, for a progress bar that moves the cursor itself and prints no
// names.
std::FILE* plain_stderr();
// Flushes both. Returns false if something could not be written to stdout (a full disk), which it
// reports.
bool end_output();

}  // namespace wick::tool
