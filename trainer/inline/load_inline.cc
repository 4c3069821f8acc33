#include "trainer/inline/load_inline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "trainer/inline/compiler.h"
#include "trainer/inline/op_cache.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

// The files of a compilation, which are gone with this object; the cache has taken the library.
struct Scratch {
  std::string base;
  ~Scratch() {
    std::error_code ignored;
    for (const char* ending : {".cc", ".so", ".d", ".key", ".headers"})
      fs::remove(base + ending, ignored);
  }
};

std::string joined(const Words& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// Returns what -march=native depends on: a folder of libraries may be that of several machines. The
// flag may also come with the compiler, as in CXX="g++ -march=native".
std::string processor(const Words& command) {
  const bool native = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word.find("=native") != std::string::npos;
  });
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; native && std::getline(file, line);) {
    if (line.starts_with("flags") || line.starts_with("Features")) return line;
  }
  return "";
}

// Returns the first lines of what a compiler says: an error in a template says a lot.
std::string beginning(std::string said) {
  constexpr size_t kMost = 4000;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  if (said.size() <= kMost) return said;
  return said.substr(0, said.rfind('\n', kMost)) + "\n...";
}

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += (c == '"' || c == '\\' ? std::string("\\") : "") + c;
  return text + "\"";
}

void compile(const Words& command, const InlineSource& source, const std::string& base,
             const Where& where) {
  std::ofstream file(base + ".cc", std::ios::binary);
  file << "#line " << source.line << " " << quoted(source.name) << "\n" << source.text;
  file.close();
  if (!file) {  // a part of the source may compile, too
    throw_error("load_inline", "cannot write " + base + ".cc: is the disk full?", where, Code::kIo);
  }
  Words whole = command;
  for (const std::string& word : {std::string("-MMD"), std::string("-MF"), base + ".d",
                                  std::string("-o"), base + ".so", base + ".cc"})
    whole.push_back(word);
  const CompilerRun run = run_compiler(whole);
  if (!run.started) {
    throw_error("load_inline",
                "there is no compiler " + command[0] +
                    ": install g++ or clang++, or name one by CXX or InlineOptions::compiler",
                where, Code::kNotFound);
  }
  if (run.code != 0) {
    throw_error("load_inline",
                "the compiler refuses the source:\n" + beginning(run.said) +
                    "\nIt was called as: " + joined(command, " "),
                where);
  }
}

BuiltOps build(const InlineSource& source, const std::string& beside, const InlineOptions& options,
               const Where& where) {
  const Words command = compiler_command(options, beside, where);
  const OpCache cache(options.cache, where);
  // The place of the source is not in the key: code that moved is not compiled again.
  const std::string key = joined(command, "\n") + "\n" + processor(command) + "\n" +
                          std::to_string(kCustomOpAbi) + "\n" + source.text;
  if (std::string kept = cache.find(key); !kept.empty()) return {kept, false, 0};
  const Scratch scratch{cache.scratch(key)};
  const auto begin = std::chrono::steady_clock::now();
  compile(command, source, scratch.base, where);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return {cache.keep(key, scratch.base, where), true, took.count()};
}

}  // namespace

BuiltOps build_inline(const InlineSource& source, const InlineOptions& options, Where where) {
  return build(source, "", options, where);
}

BuiltOps build_source(const std::string& path, const InlineOptions& options, Where where) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || fs::is_directory(path))
    throw_error("load_source", "cannot read " + path + ": check the path", where, Code::kNotFound);
  const std::string end = fs::path(path).extension();
  if (end != ".cc" && end != ".cpp" && end != ".cxx") {
    throw_error("load_source",
                path + " is no source: give a file of C++ whose name ends in .cc, .cpp or .cxx",
                where);
  }
  const fs::path folder = fs::absolute(path).parent_path();
  return build(InlineSource(text.str(), path), folder.string(), options, where);
}

std::vector<const CustomOp*> load_inline(const InlineSource& source, const InlineOptions& options,
                                         Where where) {
  return load_ops(build_inline(source, options, where).library, where);
}

std::vector<const CustomOp*> load_source(const std::string& path, const InlineOptions& options,
                                         Where where) {
  return load_ops(build_source(path, options, where).library, where);
}

}  // namespace wick
