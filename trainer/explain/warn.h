// Warnings about legal code that is very probably a mistake. There is one channel, and each line of
// the user's code warns once.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <vector>

namespace wick {

class Tensor;

// A warning of Wick's.
struct Warning {
  std::string code;  // the kind: "silent-broadcast", "stale-gradient" ...
  std::string text;  // "[mse_loss] input [8] and target [8,1] ... (train.cpp:41)"
};
// Gets every warning, from the thread that warns.
using WarningHandler = std::function<void(const Warning&)>;

// Reports `text` as "[op] text (file:line)" under `code`, once for each `where`, so that a loop
// warns once. Any thread may warn.
void warn(const char* code, const std::string& op, const std::string& text,
          const std::source_location& where = std::source_location::current());

// The same for problems that no single line causes. The caller has to avoid repetitions.
void warn_text(const char* code, const std::string& text);

// Sets the receiver of warnings; with an empty handler they go to stderr, one per line. Returns the
// former handler, and forgets which warnings were reported already.
WarningHandler set_warning_handler(WarningHandler handler);

// Collects the warnings during its lifetime instead of printing them, for the whole process and not
// only for the thread.
class CollectWarnings {
 public:
  CollectWarnings();
  ~CollectWarnings();
  CollectWarnings(const CollectWarnings&) = delete;
  CollectWarnings& operator=(const CollectWarnings&) = delete;
  std::vector<Warning> warnings() const;
  std::string text() const;  // one line per warning

 private:
  struct State;
  State* state_;
  WarningHandler saved_;
};

// Called by losses before they subtract: warns if the shapes of input and target differ but
// broadcast. A target of rank 0 is a constant and is accepted; shapes that do not broadcast are
// refused by the op.
void warn_broadcast(const char* loss, const Tensor& input, const Tensor& target,
                    const std::source_location& where);

}  // namespace wick
