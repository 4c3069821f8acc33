#include "tools/lib/deploy/made.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "runtime/core/regular_file.h"
#include "runtime/core/sha256.h"
#include "tools/lib/process.h"
#include "tools/lib/text.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

// Reads a number of `bytes` bytes at `at`, in the file's own byte order.
struct Elf {
  const std::vector<uint8_t>& file;
  bool wide = file[4] == 2, big = file[5] == 2;
  uint64_t number(uint64_t at, size_t bytes) const {
    uint64_t n = 0;
    for (size_t i = 0; i < bytes && at + i < file.size(); ++i)
      n |= uint64_t{file[at + i]} << 8 * (big ? bytes - 1 - i : i);
    return n;
  }
  uint64_t word(uint64_t at) const { return number(at, wide ? 8 : 4); }
};

fs::path cache_folder() {
  const auto env = [](const char* name) {
    const char* v = std::getenv(name);
    return std::string(v == nullptr ? "" : v);
  };
  if (!env("WICK_CACHE").empty()) return fs::absolute(env("WICK_CACHE"));
  if (!env("XDG_CACHE_HOME").empty()) return fs::path(env("XDG_CACHE_HOME")) / "wick";
  if (!env("HOME").empty()) return fs::path(env("HOME")) / ".cache/wick";
  throw Error("there is no HOME to keep the target's runtime in: set WICK_CACHE to a folder");
}

void step(const std::string& command, const std::string& what, bool verbose) {
  if (verbose) fmt::print(stderr, "{}\n", command);
  const Finished done = shell(command + " 2>&1");
  if (verbose) fmt::print(stderr, "{}", done.out);
  if (done.code == 0) return;
  const size_t most = 3000;
  throw Error(fmt::format(
      "{} failed: {}\n{}", what, command,
      done.out.size() > most ? "...\n" + done.out.substr(done.out.size() - most) : done.out));
}

std::string jobs() { return std::to_string(std::max(1u, std::thread::hardware_concurrency())); }

std::string generator() {
  return shell("ninja --version 2>/dev/null").code == 0 ? "-G Ninja " : "";
}

// The folder belongs to one tree of sources, one target and its switches; after a change of the
// sources only what depends on it is rebuilt.
fs::path runtime_build(const DeployTarget& target, bool verbose) {
  const std::string sources = wick_sources();
  Sha256 name;
  const auto add = [&name](const std::string& text) {
    name.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  add(sources);
  for (const std::string& option : target.options) add("\n" + option);
  const std::string key = std::string(name.finish_text().text).substr(0, 12);
  fs::path folder = cache_folder() / fmt::format("{}-{}", target.name, key);
  std::string configure = fmt::format(
      "cmake {}-S {} -B {} -DCMAKE_BUILD_TYPE=Release -DWICK_VULKAN=OFF -DWICK_BUILD_SHARED=OFF",
      generator(), shell_quote(sources + "/runtime"), shell_quote(folder));
  if (!target.toolchain.empty())
    configure += " -DCMAKE_TOOLCHAIN_FILE=" + shell_quote(target.toolchain);
  for (const auto* words : {&target.cmake, &target.options})
    for (const std::string& word : *words) configure += " -D" + shell_quote(word);
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    throw Error(fmt::format("cannot make {}: {}; WICK_CACHE names another folder", folder.string(),
                            failed.message()));
  step(configure, "configuring the runtime", verbose);
  step(fmt::format("cmake --build {} -j {} --target wick_runtime", shell_quote(folder), jobs()),
       "building the runtime", verbose);
  return folder;
}

uint64_t number_behind(const std::string& text, const char* word) {
  const size_t at = text.find(word);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + strlen(word), nullptr, 10);
}

}  // namespace

std::optional<Sections> elf_sections(const std::string& path) {
  std::vector<uint8_t> bytes;
  check_status(read_regular_file(path.c_str(), &bytes));
  if (bytes.size() < 64 || memcmp(bytes.data(),
                                  "\x7f"
                                  "ELF",
                                  4) != 0)
    return std::nullopt;
  const Elf elf{bytes};
  const uint64_t table = elf.word(elf.wide ? 40 : 32), size = elf.number(elf.wide ? 58 : 46, 2),
                 count = elf.number(elf.wide ? 60 : 48, 2);
  Sections s;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = table + i * size, type = elf.number(at + 4, 4), flags = elf.word(at + 8);
    const uint64_t length = elf.word(at + (elf.wide ? 32 : 20));
    constexpr uint64_t kWrite = 1, kAlloc = 2, kNoBits = 8;
    if ((flags & kAlloc) == 0) continue;
    (type == kNoBits ? s.zeroed : (flags & kWrite) != 0 ? s.data : s.code) += length;
  }
  return s;
}

Made make(const Project& project, const DeployTarget& target, bool run, bool verbose) {
  const std::string absent = fmt::format("{}", fmt::join(target.lacking(), ", "));
  if (!absent.empty())
    throw Error(fmt::format("the target {} needs {}, not installed here: {}", target.name, absent,
                            target.how_to_install()));
  const fs::path runtime = runtime_build(target, verbose),
                 build = fs::absolute(project.folder) / "build";
  std::string configure =
      fmt::format("cmake {}-S {} -B {} -DWICK_RUNTIME_BUILD={} -DWICK_SOURCES={}", generator(),
                  shell_quote(project.folder), shell_quote(build), shell_quote(runtime),
                  shell_quote(wick_sources()));
  step(configure, "configuring the program", verbose);
  step(fmt::format("cmake --build {} -j {}", shell_quote(build), jobs()), "building the program",
       verbose);
  Made made;
  for (const char* end : {"", ".exe", ".wasm", ".elf"}) {
    const fs::path file = build / (project.name + "_smoke" + end);
    if (fs::is_regular_file(file)) made.program = file;
  }
  if (made.program.empty())
    throw Error("the build made no program " + (build / (project.name + "_smoke")).string());
  made.file_bytes = fs::file_size(made.program);
  made.sections = elf_sections(made.program);
  if (!run || !target.runs) return made;
  std::string command = "cd " + shell_quote(project.folder) + " && ";
  for (const std::string& word : target.runner) command += shell_quote(word) + " ";
  const Finished done = shell(command + shell_quote(made.program) + " 2>&1");
  made.ran = true;
  made.output = done.out;
  made.passed = done.code == 0 && done.out.find("ok\n") != std::string::npos;
  made.memory = number_behind(done.out, "memory ");
  made.ram = number_behind(done.out, "\nram ");
  return made;
}

}  // namespace wick::tool
