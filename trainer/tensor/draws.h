// Which streams a thread's draws take; internal. A function that is run again must draw what it
// drew the first time, whatever other threads have drawn since.
#pragma once

#include <vector>

#include "trainer/tensor/philox.h"

namespace wick {

struct Draw {
  uint64_t seed, stream;
};
// The stream of a draw from `g`, which moves on.
Draw next_draw(Generator& g);

// While it lives, this thread's draws, from any generator, are added to `list`; or (kAgain) they
// are those of `list`, in order, and no generator moves. Scopes nest.
class DrawScope {
 public:
  enum Mode { kNote, kAgain };
  DrawScope(std::vector<Draw>* list, Mode mode);
  ~DrawScope();  // kAgain: the default generator is as it was, if the function seeded it
  DrawScope(const DrawScope&) = delete;
  DrawScope& operator=(const DrawScope&) = delete;
  size_t draws() const { return draws_; }  // so far; past the end of the list they are new ones

 private:
  friend Draw next_draw(Generator& g);
  std::vector<Draw>* list_;
  Mode mode_;
  size_t draws_ = 0;
  Generator before_;
  DrawScope* outer_;
};

}  // namespace wick
