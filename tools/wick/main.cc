#include <algorithm>

#include "tools/wick/command.h"
#include "tools/wick/terminal.h"

int main(int argc, char** argv) {
  using namespace wick::tool;  // NOLINT: it is the program that this room makes
  guard_output();
  const int code = run_wick(argc, argv);
  return end_output() ? code : std::max(code, kFailed);
}
