// Files that go when this process ends before its work does: temporaries, locks. Destructors remove
// them; who ends a process without them, as a terminate handler does, removes what is listed here.
#pragma once

namespace wick {

class Unfinished {
 public:
  Unfinished() = default;
  ~Unfinished() { done(); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  // `path` must stay as it is until done(). Beyond 64 at a time it is not listed.
  void begin(const char* path);
  void done();

 private:
  int slot_ = -1;
};

// Unlinks them all. Allocates nothing and waits for nothing.
void remove_unfinished();

}  // namespace wick
