// Ctrl-C as a question a loop asks, instead of the end of the process.
#pragma once

namespace wick::loop {

// While it lives, the first SIGINT only sets a flag; a second one has its usual effect. One at a
// time in a process; restores the former handler.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  static bool requested();
};

}  // namespace wick::loop
