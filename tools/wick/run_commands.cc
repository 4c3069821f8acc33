#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "tools/lib/limits.h"
#include "tools/lib/std_files.h"
#include "tools/wick/command.h"
#include "tools/wick/failure.h"

namespace {

// A library's user wants the line that made the mistake; the lines that a command stands on are our
// own.
std::string without_source_line(std::string text) {
  size_t open = text.rfind(" (");
  if (open == std::string::npos || !text.ends_with(")")) return text;
  std::string inside = text.substr(open + 2, text.size() - open - 3);
  size_t colon = inside.rfind(':');
  if (colon == std::string::npos || colon + 1 == inside.size()) return text;
  std::string file = inside.substr(0, colon), line = inside.substr(colon + 1);
  bool source = file.ends_with(".cc") || file.ends_with(".h");
  if (source && line.find_first_not_of("0123456789") == std::string::npos) text.resize(open);
  return text;
}

// Indents a message's lines after the first: text from a file's name must not look like a line of
// ours, nor like a command to a CI that reads them ("::error::", "##[error]").
std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    out += text[at];
    if (text[at] != '\n') continue;
    const size_t word = std::min(text.find_first_not_of(" \t\r", at + 1), text.size());
    if (text.compare(word, 2, "::") == 0 || text.compare(word, 3, "##[") == 0)
      out += "  | ";
    else if (word == at + 1)
      out += "  ";
  }
  return out;
}

// Without memory there is no document; the parts of this one are known before.
void write_out_of_memory(const std::string& command) {
  if (wick::tool::json_printed()) return;
  char text[192];
  const int size = std::snprintf(
      text, sizeof(text),
      "{\n  \"command\": \"%s\",\n  \"error\": \"out of memory\",\n  \"where\": \"\",\n"
      "  \"hint\": \"give more memory (--max-ram)\"\n}\n",
      command.c_str());
  (void)!write(STDOUT_FILENO, text, static_cast<size_t>(size));
}

}  // namespace

namespace wick::tool {

int run_commands(int argc, char** argv, void (*add)(CommandLine& app)) {
  CommandLine app("wick", "Wick: train a model, export it, run it anywhere, with the same bits.",
                  WICK_VERSION);
  add(app);
  const bool json = app.wants_json(argc, argv);
  const std::string command = app.command_of(argc, argv);
  const AtTimeUp tell_time([&] {
    if (!json) return;
    print_failure({command, "the time is up", "--timeout", "give more seconds"});
    std::fflush(stdout);
  });
  StdFiles files;
  try {
    int code = kDiffers;
    try {
      code = app.run(argc, argv);
    } catch (const Differs&) {
    }
    if (code == 0 || code == kDiffers) files.send();
    return code;
  } catch (const Interrupted&) {
    return kInterrupted;
  } catch (const std::bad_alloc&) {
    // There may be no memory for a text either, nor for escaping it.
    char text[64] = "wick: out of memory\n";
    if (memory_limit() != UINT64_MAX) {
      std::snprintf(text, sizeof(text), "wick: out of memory (--max-ram %llu)\n",
                    static_cast<unsigned long long>(memory_limit()));
    }
    (void)!write(STDERR_FILENO, text, strlen(text));
    if (json) write_out_of_memory(command);
    return kFailed;
  } catch (const std::exception& failed) {
    const std::string text = with_advice(without_source_line(failed.what()));
    fmt::print(stderr, "wick: {}\n", indented(text));
    if (json)
      print_failure(failure_of(command, shown(text), {argv + std::min(argc, 2), argv + argc}));
    return kFailed;
  }
}

}  // namespace wick::tool
