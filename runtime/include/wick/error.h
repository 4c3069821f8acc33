// wick::Error: the exception by which everything above the runtime (trainer, graph, exporter,
// quantize, tools) reports failure. Header only; the runtime itself never includes it.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

#include "runtime/core/status.h"

namespace wick {

// what() reads "[matmul] inner dimensions differ: [2,3] x [4,5] (train.cpp:41)".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, Code code = Code::kInvalidArgument)
      : std::runtime_error(text), code_(code) {}
  // Returns the kind of failure.
  Code code() const { return code_; }

 private:
  Code code_;
};

// Returns "train.cpp:41": only the file's last path element, so that messages do not depend on
// where a source tree was built.
inline std::string to_text(const std::source_location& where) {
  std::string file = where.file_name();
  size_t slash = file.find_last_of("/\\");
  if (slash != std::string::npos) file.erase(0, slash + 1);
  return file + ":" + std::to_string(where.line());
}

// Throws an Error that names the op, the cause and the caller's line.
[[noreturn]] inline void throw_error(
    const std::string& op, const std::string& message,
    const std::source_location& where = std::source_location::current(),
    Code code = Code::kInvalidArgument) {
  throw Error("[" + op + "] " + message + " (" + to_text(where) + ")", code);
}

// Throws an Error with the text and code of a Status.
[[noreturn]] inline void throw_status(
    const std::string& op, Status status,
    const std::source_location& where = std::source_location::current()) {
  throw_error(op, status.message(), where, status.code());
}

// Throws an Error if the Status is a failure, naming the op and the caller's line.
inline void check_status(const std::string& op, Status status,
                         const std::source_location& where = std::source_location::current()) {
  if (!status.ok()) throw_status(op, status, where);
}

// Use it for failures that no line of the user's code explains: a full disk, a missing folder.
inline void check_status(Status status) {
  if (!status.ok()) throw Error(status.message(), status.code());
}

}  // namespace wick
