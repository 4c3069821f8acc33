// Unfinished: a list of the files (temporaries, locks) that must be removed if this process ends
// before its work is done. Destructors remove them; code that ends a process without destructors,
// such as a terminate handler, calls remove_unfinished().
#pragma once

namespace wick {

class Unfinished {
 public:
  Unfinished() = default;
  ~Unfinished() { done(); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  // `path` must stay unchanged until done(). At most 64 files are listed at a time; further ones
  // are ignored.
  void begin(const char* path);
  void done();

 private:
  int slot_ = -1;
};

// Unlinks all listed files. Allocates nothing and waits for nothing.
void remove_unfinished();

}  // namespace wick
