// AsyncWork: work that continues after the call that started it. Devices with queues register here,
// so that code that reads a clock can wait for all of them.
#pragma once

namespace wick {

class AsyncWork {
 public:
  // Returns when all work that was started before has ended or was abandoned. May be called from
  // any thread.
  virtual void wait_for_all() = 0;

 protected:
  ~AsyncWork() = default;
  // Call enlist() before there is work to wait for, and leave() before the object is destroyed.
  void enlist();
  void leave();

 private:
  friend void synchronize();
  AsyncWork* next_ = nullptr;
};

// Returns when all asynchronous work has ended; at once where only the CPU is used.
void synchronize();

}  // namespace wick
