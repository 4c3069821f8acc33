#include "tools/wick/places.h"

#include <fmt/core.h>

#include <filesystem>

#include "runtime/core/atomic_file.h"
#include "tools/lib/usage.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const auto place = [&](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path, error), error);
  };
  return place(a) == place(b);
}

void check_place(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw Error(fmt::format("cannot write {}: it is a folder; name a file", path), Code::kIo);
  AtomicFile file;  // it is removed again without commit()
  check_status(file.open(path.c_str()));
}

}  // namespace

void check_places(const std::vector<std::string>& inputs, const std::vector<Place>& places) {
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& [option, path] = places[i];
    if (path.empty()) continue;
    for (const std::string& input : inputs) {
      if (!input.empty() && same_file(path, input))
        wrong_usage(option,
                    fmt::format("'{}' is read: it would be replaced; name another file", path));
    }
    for (size_t k = 0; k < i; ++k) {
      if (!places[k].path.empty() && same_file(path, places[k].path))
        wrong_usage(option, fmt::format("'{}' is to be written twice; name another file", path));
    }
  }
  for (const Place& place : places) {
    if (!place.path.empty()) check_place(place.path);
  }
}

}  // namespace wick::tool
