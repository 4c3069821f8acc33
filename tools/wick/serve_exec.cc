#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/wick/serve.h"

namespace wick::tool {

void serve_models(const ServeCommand& /*c*/, char** words) {
  std::error_code unknown;  // then nothing is found there
  const auto self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::string server = (self.parent_path() / "wick-serve").string();
  if (!std::filesystem::exists(server, unknown)) {
    throw Error(
        fmt::format("this build cannot serve, there is no {}: build Wick where cpp-httplib is "
                    "installed (libcpp-httplib-dev)",
                    server),
        Code::kUnsupported);
  }
  execv(server.c_str(), words);
  throw Error(fmt::format("{}: {}", server, std::strerror(errno)), Code::kUnsupported);
}

}  // namespace wick::tool
