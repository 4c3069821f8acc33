// Other programs, run to their end.
#pragma once

#include <string>

namespace wick::tool {

struct Finished {
  int code;  // 128: a signal ended it
  std::string out;
};
// While one runs, SIGINT and the like end it and what it started, then this process.
bool forwards_signals();
// A shell's command line. Throws Error where no process can be started.
Finished shell(const std::string& command);

}  // namespace wick::tool
