// What a caller has of a collective that was started, and of what a rank has sent.
#pragma once

#include <cstdint>
#include <memory>

namespace wick::distributed {

class Engine;
class Operation;

// A collective that was started. Letting a handle go does not stop it.
class Handle {
 public:
  Handle() = default;  // of nothing: done
  Handle(std::shared_ptr<Engine> engine, std::shared_ptr<const Operation> op)
      : engine_(std::move(engine)), op_(std::move(op)) {}
  // Returns whether it is over, well or not.
  bool done() const;
  // Waits for it. Throws Error with the report that all ranks get, if a rank failed, called another
  // collective, or did not call any in time.
  void wait() const;

 private:
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const Operation> op_;
};

// Bytes and messages that a rank has sent.
struct Traffic {
  int64_t payload_bytes = 0;      // as the formulas of docs/use/distributed.md say
  int64_t fingerprint_bytes = 0;  // 16 for each message that begins a collective
  int64_t messages = 0;           // of both kinds
  // That threads of the program waited for collectives; a thread that writes a checkpoint is none.
  double waited_s = 0;
};

}  // namespace wick::distributed
