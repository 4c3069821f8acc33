// Standard input and standard output where a command takes a file. Models are mapped and files are
// replaced at once, so what comes or goes through a pipe is a temporary file for the time of the
// command.
#pragma once

#include <string>

namespace wick::tool {

// Returns whether an option's value means standard input or output: "-". An output may name its
// ending, too: "-.onnx".
bool is_std_file(const std::string& value);
// Returns the path of a file with all of standard input; its ending tells the kinds of arrays
// apart. Throws UsageError if it was asked for before, Error if it is empty or cannot be read.
std::string stdin_file();
// Returns the path of a file that goes to standard output when the command has done its work; from
// here on stdout prints to stderr. Throws UsageError if there is one already, or if standard output
// is a terminal.
std::string stdout_file(const std::string& ending);
// Returns the text with "-" in place of the paths of these files.
std::string shown(const std::string& text);

// While one lives, the files above exist; there is one for a command line.
class StdFiles {
 public:
  StdFiles();
  ~StdFiles();
  StdFiles(const StdFiles&) = delete;
  StdFiles& operator=(const StdFiles&) = delete;
  // Writes the file of stdout_file() to standard output. Throws Error if it takes no more.
  void send();
};

}  // namespace wick::tool
