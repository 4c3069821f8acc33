// The program wick-serve, which `wick serve` becomes.
#include "tools/wick/command.h"

namespace wick::tool {

int run_wick(int argc, char** argv) { return run_commands(argc, argv, add_serve); }

}  // namespace wick::tool
