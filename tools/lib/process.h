// Runs other programs to their end.
#pragma once

#include <string>

namespace wick::tool {

struct Finished {
  int code;  // 128: it was ended by a signal
  std::string out;
};
// Returns whether a program runs. While one does, SIGINT and the like end it and what it started,
// then this process.
bool forwards_signals();
// Runs a shell's command line. Throws Error if no process can be started.
Finished shell(const std::string& command);

}  // namespace wick::tool
