// The command line as the commands see it: commands, their options, and checks of values. It wraps
// CLI11, which only command_line.cc includes, because every file that does takes seconds longer to
// compile.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Error;
class Option;
}  // namespace CLI

namespace wick::tool {

// An option or a positional argument: a handle that is cheap to copy. What a check refuses is wrong
// usage; checks run in the order in which they were added.
class Option {
 public:
  Option(CLI::Option* option) : option_(option) {}  // NOLINT: CLI11's calls return it
  Option required() const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  Option one_word() const;               // for a list: the next word is not its second value
  Option delimiter(char between) const;  // for a list: a word may hold several values
  Option one_of(const std::vector<std::string>& values) const;
  Option one_of(std::initializer_list<int> values) const;
  Option at_least(int64_t least) const;             // integers
  Option above_zero() const;                        // numbers, finite as they stand
  Option not_negative() const;                      // the same
  Option between(double least, double most) const;  // both included; NaN passes
  Option named_size() const;                        // NAME=N
  // The value names a file that is read, or NAME=FILE: "-" is standard input
  // (tools/lib/std_files.h).
  Option reads_file() const;
  // The value names a file that is written: "-" is standard output, as a file with this ending;
  // "-.onnx" names another ending.
  Option writes_file(const char* ending) const;

 private:
  CLI::Option* option_;
};

// A subcommand: a handle too. The values must outlive the parsing, which writes those that were
// given.
class Command {
 public:
  Command(CLI::App* command) : command_(command) {}  // NOLINT: the same
  // Both work for the types that command_line.cc instantiates; a vector takes any number of values.
  // The help says what `value` holds now: the default.
  template <class T>
  Option add_option(const char* names, T& value, const char* help = "");
  template <class T>
  Option add_option_function(const char* names, const std::function<void(const T&)>& take,
                             const char* help);
  // The value is a number of bytes above zero: 4096, 256M, 2G (of 1024).
  Option add_bytes(const char* names, uint64_t& value, const char* help);
  Option add_flag(const char* names, bool& value, const char* help);
  // Adds a flag that may name a file: the next word is its value if it ends in .json or is "-", and
  // else the option stands alone.
  void add_flag_or_json(const char* name, bool& alone, std::string& file, const char* help);
  void add_flag_callback(const char* names, const std::function<void()>& given, const char* help);
  void footer(const char* text);
  void callback(const std::function<void()>& work);  // once everything is parsed
  bool given(const char* option) const;
  // Returns the values that were given for an option, as they were written.
  std::vector<std::string> values(const char* option) const;

 private:
  CLI::App* command_;
};

class CommandLine {
 public:
  CommandLine(const char* name, const char* about, const char* version);
  ~CommandLine();
  Command add_command(const char* name, const char* about);
  // Parses the words and calls the command's callback. Wrong usage (also a callback's UsageError)
  // and --help are printed here, and give the exit code; with --json wrong usage is an object, too
  // (failure.h). Anything else that a callback throws passes through.
  int run(int argc, char** argv);
  // Returns the words that run() was given.
  char** words() const { return words_; }
  // Returns the command that the words call, "" if the first is none.
  std::string command_of(int argc, char** argv) const;
  // Returns whether the words have the command's flag --json (conformance names a file by it).
  bool wants_json(int argc, char** argv) const;

 private:
  CLI::App* find(int argc, char** argv) const;
  void print(const CLI::Error& ended);

  std::unique_ptr<CLI::App> app_;
  char** words_ = nullptr;
};

}  // namespace wick::tool
