// Warnings: legal code that is very probably a mistake. One channel, each line of the user's code
// once.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <vector>

namespace wick {

class Tensor;

struct Warning {
  std::string code;  // what kind: "silent-broadcast", "stale-gradient" ...
  std::string text;  // "[mse_loss] input [8] and target [8,1] ... (train.cpp:41)"
};
using WarningHandler = std::function<void(const Warning&)>;

// Reports `text` as "[op] text (file:line)" under `code`, once for each `where`: a loop warns once.
// Any thread may warn.
void warn(const char* code, const std::string& op, const std::string& text,
          const std::source_location& where = std::source_location::current());

// The same for what no single line is the cause of. The caller sees to it that it is not repeated.
void warn_text(const char* code, const std::string& text);

// Where warnings go from now on; an empty handler: to stderr, a line each. The former one is
// returned. What was reported so far counts as not reported.
WarningHandler set_warning_handler(WarningHandler handler);

// Keeps the warnings of its lifetime instead of printing them; of the whole process, not of the
// thread.
class CollectWarnings {
 public:
  CollectWarnings();
  ~CollectWarnings();
  CollectWarnings(const CollectWarnings&) = delete;
  CollectWarnings& operator=(const CollectWarnings&) = delete;
  std::vector<Warning> warnings() const;
  std::string text() const;  // a line a warning

 private:
  struct State;
  State* state_;
  WarningHandler saved_;
};

// For losses, before they subtract: warns when the shapes of input and target differ and broadcast.
// A target of rank 0 is a constant and passes; shapes that do not broadcast are the op's to refuse.
void warn_broadcast(const char* loss, const Tensor& input, const Tensor& target,
                    const std::source_location& where);

}  // namespace wick
