#include "trainer/inline/op_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

namespace wick {
namespace {

namespace fs = std::filesystem;

fs::path default_folder() {
  const auto set = [](const char* name) -> const char* {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  };
  if (const char* own = set("WICK_CACHE")) return own;
  if (const char* xdg = set("XDG_CACHE_HOME")) return fs::path(xdg) / "wick";
  if (const char* home = set("HOME")) return fs::path(home) / ".cache/wick";
  return fs::temp_directory_path() / ("wick-" + std::to_string(geteuid()));
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// FNV-1a: it only finds the files; they are then compared in whole.
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Returns the files that a rule of make names: "a.o: b.cc c\ d.h \". A blank in a name is escaped.
std::vector<std::string> prerequisites(const std::string& rule) {
  std::vector<std::string> names(1);
  for (size_t i = rule.find(": ") + 1; i < rule.size(); ++i) {
    if (rule[i] == '\\' && i + 1 < rule.size() && rule[i + 1] == ' ') {
      names.back() += rule[++i];
    } else if (rule[i] == ' ' || rule[i] == '\n' || rule[i] == '\\') {
      if (!names.back().empty()) names.emplace_back();
    } else {
      names.back() += rule[i];
    }
  }
  if (names.back().empty()) names.pop_back();
  return names;
}

// Returns a file's line in the list of what a library was made of: size, time, and `name`, under
// which it is looked for later.
std::string state_of(const std::string& path, const std::string& name) {
  struct stat s = {};
  if (stat(path.c_str(), &s) != 0) return "gone " + name;
  std::ostringstream line;
  line << s.st_size << ' ' << s.st_mtim.tv_sec << '.' << s.st_mtim.tv_nsec << ' ' << name;
  return line.str();
}

// Returns whether nothing in the list has changed. Its last line is the library's own: three files
// cannot be replaced at once, and who is stopped between two of them leaves a library that another
// list describes, or a list that ends early.
bool same_files(const fs::path& list, const std::string& library) {
  std::ifstream file(list);
  std::string last;
  for (std::string line; std::getline(file, line); last = line) {
    const size_t at = line.find(' ', line.find(' ') + 1);
    if (at == std::string::npos) return false;
    const std::string name = line.substr(at + 1);
    if (state_of(name, name) != line) return false;
  }
  return last == state_of(library, library);
}

bool write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file.good();
}

}  // namespace

OpCache::OpCache(const std::string& asked, const Where& where)
    : folder_(fs::path(asked.empty() ? default_folder() : fs::path(asked)) / "ops") {
  std::error_code failed;
  fs::create_directories(folder_.parent_path(), failed);
  mkdir(folder_.c_str(), 0700);
  struct stat s = {};
  if (stat(folder_.c_str(), &s) != 0 || !S_ISDIR(s.st_mode) ||
      access(folder_.c_str(), W_OK | X_OK) != 0) {
    throw_error("load_inline",
                "cannot keep libraries in " + folder_.string() +
                    ": set WICK_CACHE to a folder that can be written",
                where, Code::kIo);
  }
  // Whoever owns the folder above, or may write to it, can put another one in its place. In one
  // like /tmp only the owner of a folder can.
  struct stat above = {};
  const bool safe = stat(folder_.parent_path().c_str(), &above) == 0 &&
                    (above.st_uid == geteuid() || above.st_uid == 0) &&
                    ((above.st_mode & S_IWOTH) == 0 || (above.st_mode & S_ISVTX) != 0);
  if (!safe || s.st_uid != geteuid() || (s.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw_error("load_inline",
                folder_.string() +
                    " can be written by others, whose code would run here: set WICK_CACHE to a "
                    "folder of your own",
                where, Code::kIo);
  }
}

std::string OpCache::base(const std::string& key) const {
  char name[17];
  snprintf(name, sizeof(name), "%016llx", static_cast<unsigned long long>(hash_of(key)));
  return (folder_ / name).string();
}

std::string OpCache::find(const std::string& key) const {
  const std::string at = base(key);
  std::error_code unknown;
  const bool kept = fs::exists(at + ".so", unknown) && text_of(at + ".key") == key &&
                    same_files(at + ".headers", at + ".so");
  return kept ? at + ".so" : "";
}

std::string OpCache::scratch(const std::string& key) const {
  static std::atomic<int> count = 0;
  return base(key) + "-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

std::string OpCache::keep(const std::string& key, const std::string& scratch,
                          const Where& where) const {
  std::string headers;
  for (const std::string& path : prerequisites(text_of(scratch + ".d"))) {
    if (!path.starts_with(scratch)) headers += state_of(path, path) + "\n";
  }
  headers += state_of(scratch + ".so", base(key) + ".so") + "\n";  // renaming keeps size and time
  std::error_code failed;
  if (!write(scratch + ".key", key) || !write(scratch + ".headers", headers))
    failed = std::make_error_code(std::errc::io_error);
  for (const char* ending : {".key", ".headers", ".so"}) {
    if (!failed) fs::rename(scratch + ending, base(key) + ending, failed);
  }
  if (failed) {
    throw_error("load_inline", "cannot keep " + base(key) + ".so: " + failed.message(), where,
                Code::kIo);
  }
  return base(key) + ".so";
}

}  // namespace wick
