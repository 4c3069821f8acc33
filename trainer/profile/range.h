// Named slices of a thread's time: what modules, backward, optimizers, loaders and users tell a
// Profiler. Without a listener a range costs one test of a thread's pointer.
#pragma once

#include <cstdint>

namespace wick {

enum class RangeKind : uint8_t { kUser, kModule };

class RangeListener {
 public:
  // `name` is valid during the call only; "" is a module without a name (the outermost one).
  virtual void on_range_begin(const char* name, RangeKind kind) = 0;
  // The last range of this name that is open ends, and with it what began inside of it and was not
  // ended (an exception passed). One that began before the listener listened may end, too.
  virtual void on_range_end(const char* name, RangeKind kind) = 0;
  RangeListener(const RangeListener&) = delete;
  RangeListener& operator=(const RangeListener&) = delete;

 protected:
  RangeListener();  // hears of this thread from now on; the last one made is the first to go
  ~RangeListener();

 private:
  friend void begin_range(const char* name, RangeKind kind);
  friend void end_range(const char* name, RangeKind kind);
  RangeListener* outer_;
};

bool ranges_heard();  // on this thread
void begin_range(const char* name, RangeKind kind = RangeKind::kUser);
void end_range(const char* name, RangeKind kind = RangeKind::kUser);

// ProfileRange range("augment");  `name` must outlive it. "loader", "zero_grad", "forward", "loss",
// "backward" and "optimizer" are the parts of a step that StepAnatomy tells apart.
class ProfileRange {
 public:
  explicit ProfileRange(const char* name, RangeKind kind = RangeKind::kUser)
      : name_(name), kind_(kind), heard_(ranges_heard()) {
    if (heard_) begin_range(name_, kind_);
  }
  ~ProfileRange() {
    if (heard_) end_range(name_, kind_);
  }
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;

 private:
  const char* name_;
  RangeKind kind_;
  bool heard_;
};

}  // namespace wick
