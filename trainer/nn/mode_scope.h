// ModeScope: sets all modules of a model to one mode, and restores each module's mode afterwards.
#pragma once

#include <utility>
#include <vector>

#include "trainer/nn/module.h"

namespace wick::nn {

// While it lives, the module and its descendants are in training mode, or (training = false) in
// eval mode. Then each gets its former mode back, also after an error: a batch norm that was frozen
// in eval mode stays frozen. The modules must outlive it.
class ModeScope {
 public:
  ModeScope(Module& root, bool training) {
    for (Module* m : root.modules()) modes_.emplace_back(m, m->training());
    root.train(training);
  }
  ~ModeScope() {
    // Parents first: each sets the mode of its children, which come after it.
    for (const auto& [m, training] : modes_) m->train(training);
  }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  std::vector<std::pair<Module*, bool>> modes_;
};

}  // namespace wick::nn
