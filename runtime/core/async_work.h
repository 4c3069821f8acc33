// Work that goes on after the call that began it: devices with queues are known here, so that
// whoever reads a clock can wait for all of them.
#pragma once

namespace wick {

class AsyncWork {
 public:
  // Returns when what was begun before has ended, or is given up. From any thread.
  virtual void wait_for_all() = 0;

 protected:
  ~AsyncWork() = default;
  // Once it has work to wait for; and before it goes.
  void enlist();
  void leave();

 private:
  friend void synchronize();
  AsyncWork* next_ = nullptr;
};

// Returns when all that was begun has ended: on the CPU alone at once.
void synchronize();

}  // namespace wick
