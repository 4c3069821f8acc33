// What a Program is made of, for the files that make it and repeat it.
#pragma once

#include "trainer/compile/program.h"

namespace wick::compiled {

struct Program::Launch {
  const Entry* entry;
  OpId op;
  AnyAttrs attrs;
  std::vector<TensorView> in, out;
  bool joins = false;
  PreparedKernel kernel;
};
struct Program::Patch {
  TensorView* view;
  int64_t offset;
};
// Memory with the handles on it that the program may hold. While it holds one, the next run writes
// into another copy.
struct Program::SlotCopy {
  IntrusivePtr<Storage> storage;
  std::vector<Tensor> handles;
};
struct Program::Slot {
  struct Handle {
    TensorView view;
    int64_t offset;
    int leaf;    // whose gradient it is; -1: it is a result
    int result;  // the number of the result
  };
  int buffer;
  IntrusivePtr<Storage> fixed;  // host code holds it: what is written; the copies are made of it
  std::vector<Handle> handles;
  std::vector<SlotCopy> copies;
  size_t now = 0;  // the copy of this run

  SlotCopy& copy() { return copies[now]; }
  void* memory() { return fixed ? fixed->data() : copy().storage->data(); }
};

}  // namespace wick::compiled
