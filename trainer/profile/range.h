// Named ranges of a thread's time, which modules, backward, optimizers, loaders and users report to
// a Profiler. Without a listener a range costs one test of a thread-local pointer.
#pragma once

#include <cstdint>

namespace wick {

// A range is one of the program's, or a module's forward.
enum class RangeKind : uint8_t { kUser, kModule };

// Hears of the ranges of its thread. Profiler is one.
class RangeListener {
 public:
  // `name` is only valid during the call; "" is a module without a name (the outermost one).
  virtual void on_range_begin(const char* name, RangeKind kind) = 0;
  // The innermost open range of this name ends, and with it all ranges that began inside of it and
  // were not ended (because of an exception). It may have begun before the listener was created.
  virtual void on_range_end(const char* name, RangeKind kind) = 0;
  RangeListener(const RangeListener&) = delete;
  RangeListener& operator=(const RangeListener&) = delete;

 protected:
  RangeListener();  // listens to this thread; listeners are destroyed in reverse order
  ~RangeListener();

 private:
  friend void begin_range(const char* name, RangeKind kind);
  friend void end_range(const char* name, RangeKind kind);
  RangeListener* outer_;
};

bool ranges_heard();  // on this thread
// Begin and end a range of this thread. `name` must live as long as the range; ProfileRange does
// both.
void begin_range(const char* name, RangeKind kind = RangeKind::kUser);
void end_range(const char* name, RangeKind kind = RangeKind::kUser);

// Usage: ProfileRange range("augment"); `name` must outlive it. "loader", "zero_grad", "forward",
// "loss", "backward" and "optimizer" are the parts of a step that StepAnatomy distinguishes.
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
