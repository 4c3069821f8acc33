// Lets a loop check for Ctrl-C, which then does not end the process.
#pragma once

namespace wick::loop {

// While it lives, the first SIGINT only sets a flag; a second one has its usual effect. Only one
// may exist in a process. It restores the former handler.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  static bool requested();
};

}  // namespace wick::loop
