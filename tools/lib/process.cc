#include "tools/lib/process.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "wick/error.h"

namespace wick::tool {

Finished shell(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw Error("cannot start a process");
  Finished f;
  std::array<char, 4096> buffer;
  for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    f.out.append(buffer.data(), n);
  const int status = pclose(pipe);
  f.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return f;
}

}  // namespace wick::tool
