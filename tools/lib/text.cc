#include "tools/lib/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "runtime/core/atomic_file.h"
#include "runtime/core/printable.h"
#include "wick/error.h"

namespace wick::tool {

std::string shell_quote(const std::string& text) {
  auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::strchr("._-/=+:,@%", c) != nullptr;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  const auto code = [](char c) { return static_cast<unsigned char>(c); };
  const auto shown = [&](char c) { return code(c) >= 0x20 && code(c) < 0x7f; };
  if (!std::all_of(text.begin(), text.end(), shown)) {
    std::string escaped = "$'";  // bash, zsh, and sh by POSIX 2024
    for (char c : text) {
      escaped += !shown(c)                ? fmt::format("\\{:03o}", code(c))
                 : c == '\'' || c == '\\' ? std::string("\\") + c
                                          : std::string(1, c);
    }
    return escaped + "'";
  }
  std::string q = "'";
  for (char c : text) q += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return q + "'";
}

std::string one_line(const std::string& text) {
  std::string out;  // printable() shows line ends and tabs
  for (char c : printable(text))
    out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : std::string(1, c);
  return out;
}

std::string counted(int64_t n, const std::string& what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

void make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed || !std::filesystem::is_directory(path))
    throw Error(fmt::format("cannot make the folder {}: {}; name another one", path,
                            failed ? failed.message() : "there is a file of this name"),
                Code::kIo);
}

void refuse_link(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_symlink(path, failed))
    throw Error(fmt::format("{} is a symbolic link, and would be written through: remove it",
                            one_line(path)),
                Code::kIo);
}

void write_text(const std::string& path, const std::string& text) {
  check_status(write_file_atomically(path.c_str(), text.data(), text.size()));
}

}  // namespace wick::tool
