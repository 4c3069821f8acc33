// Modes for a while: all of a model in one mode, and each module in its own afterwards.
#pragma once

#include <utility>
#include <vector>

#include "trainer/nn/module.h"

namespace wick::nn {

// While it lives, the module and all below it are in training mode, or (training = false) in eval
// mode. Then each is again what it was, also after an error: a batch norm that was frozen in eval
// mode stays frozen. The modules must outlive it.
class ModeScope {
 public:
  ModeScope(Module& root, bool training) {
    for (Module* m : root.modules()) modes_.emplace_back(m, m->training());
    root.train(training);
  }
  ~ModeScope() {
    // Parents first: each sets its children's mode, which come after it.
    for (const auto& [m, training] : modes_) m->train(training);
  }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  std::vector<std::pair<Module*, bool>> modes_;
};

}  // namespace wick::nn
