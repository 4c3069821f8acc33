// What `wick serve` was asked for.
#pragma once

#include <string>
#include <vector>

#include "tools/serve/options.h"

namespace wick::tool {

struct ServeCommand {
  std::vector<std::string> models;
  serve::ServeOptions serve;
  int64_t instances = 1, queue = 64, connections = 64, max_body = 64;
  double deadline = 60, drain = 30;
  bool json = false;
};

// Serves until a signal says to end. `words`: the command line, null after the last. The program
// wick-serve has a server; wick becomes wick-serve, so that no other command loads the HTTP library
// and those that it needs.
void serve_models(const ServeCommand& c, char** words);

}  // namespace wick::tool
