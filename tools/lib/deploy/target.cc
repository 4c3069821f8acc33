#include "tools/lib/deploy/target.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/core/regular_file.h"
#include "tools/lib/usage.h"
#include "trainer/checkpoint/json.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

bool has_sources(const fs::path& folder) {
  return fs::exists(folder / "targets") && fs::exists(folder / "runtime/CMakeLists.txt");
}

bool on_path(const std::string& program) {
  // zig also comes as a Python module, and is any command then (targets/zig.cmake).
  if (const char* zig = std::getenv("WICK_ZIG"); program == "zig" && zig != nullptr) return true;
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
  const char* all = std::getenv("PATH");
  std::string rest = all == nullptr ? "" : all;
  for (size_t at = 0; at <= rest.size();) {
    const size_t end = std::min(rest.find(':', at), rest.size());
    const fs::path file = fs::path(rest.substr(at, end - at)) / program;
    std::error_code unreadable;
    if (fs::is_regular_file(file, unreadable) && access(file.c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

DeployTarget read_target(const fs::path& folder) {
  const fs::path file = folder / "target.json";
  try {
    std::string text;
    check_status(read_regular_file(file.c_str(), &text));
    const nlohmann::json doc = read_json(text, file.string());
    DeployTarget t;
    t.name = folder.filename();
    t.folder = folder;
    t.title = doc.at("title");
    t.promise = doc.at("promise");
    if (doc.contains("toolchain")) t.toolchain = folder / doc.at("toolchain").get<std::string>();
    t.runner = doc.value("runner", t.runner);
    t.needs = doc.value("needs", t.needs);
    t.packages = doc.value("packages", t.packages);
    t.cmake = doc.value("cmake", t.cmake);
    t.runs = doc.value("runs", t.runs);
    t.files = doc.value("files", t.files);
    t.incbin = doc.value("incbin", t.incbin);
    t.sources = doc.value("sources", t.sources);
    t.also = doc.value("also", t.also);
    t.link = doc.value("link", t.link);
    // The target's own files are named by their paths in its folder.
    for (auto* words : {&t.runner, &t.sources, &t.link}) {
      for (std::string& word : *words) {
        if (word.starts_with("./")) word = folder / word.substr(2);
      }
    }
    return t;
  } catch (const nlohmann::json::exception& e) {
    throw Error(fmt::format("cannot read {}: {}", file.string(), e.what()));
  }
}

// The switches of runtime/cmake/WickFlags.cmake and WickPlatform.cmake that a program may choose.
constexpr const char* kSwitches[] = {"WICK_SMALL",    "WICK_ERROR_TEXTS", "WICK_SCALAR_ONLY",
                                     "WICK_RE2",      "WICK_THREADS",     "WICK_DLOPEN",
                                     "WICK_EDITION_1"};

void check_switch(const std::string& option) {
  for (const std::string name : kSwitches)
    if (option == name + "=ON" || option == name + "=OFF") return;
  wrong_usage("--option", fmt::format("'{}' is no switch: NAME=ON or NAME=OFF, of {}", option,
                                      fmt::join(kSwitches, ", ")));
}

}  // namespace

std::vector<std::string> DeployTarget::lacking() const {
  std::vector<std::string> absent;
  std::copy_if(needs.begin(), needs.end(), std::back_inserter(absent),
               [](const std::string& program) { return !on_path(program); });
  return absent;
}

std::string DeployTarget::how_to_install() const {
  return fmt::format("apt-get install {}{}{}", fmt::join(packages, " "), also.empty() ? "" : "; ",
                     also);
}

std::string wick_sources() {
  if (const char* given = std::getenv("WICK_SOURCES"); given != nullptr && *given != '\0') {
    if (has_sources(given)) return fs::absolute(given);
    throw Error(
        fmt::format("WICK_SOURCES={}: there is no runtime/ with targets/ beside it", given));
  }
  std::error_code unknown;  // then only the tree that built this program can have them
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  const fs::path installed = (program.parent_path() / WICK_INSTALLED_SCRIPTS).lexically_normal();
  if (!unknown && has_sources(installed)) return installed;
  if (has_sources(WICK_SOURCE_TREE)) return WICK_SOURCE_TREE;
  throw Error(
      "the runtime's sources are not beside this program: install the component `targets`, or name "
      "a copy of Wick's "
      "tree by WICK_SOURCES");
}

std::vector<DeployTarget> deploy_targets() {
  std::vector<DeployTarget> all;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(wick_sources()) / "targets"))
    if (fs::exists(entry.path() / "target.json")) all.push_back(read_target(entry.path()));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

DeployTarget deploy_target(const std::string& name, const std::vector<std::string>& options) {
  for (const std::string& option : options) check_switch(option);
  std::vector<std::string> names;
  for (DeployTarget& t : deploy_targets()) {
    if (t.name == name) {
      t.options = options;
      return std::move(t);
    }
    names.push_back(t.name);
  }
  wrong_usage("--target",
              fmt::format("there is no '{}'; there are {}", name, fmt::join(names, ", ")));
}

}  // namespace wick::tool
