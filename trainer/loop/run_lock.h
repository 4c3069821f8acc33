// One run a folder: two that write their checkpoints and metrics into one would leave a mixture of
// both that looks like a run.
#pragma once

#include <memory>
#include <string>

#include "trainer/tensor/call.h"

namespace wick::loop {

// Holds the folder, which exists, until it is destroyed or the process ends. Within a thread locks
// of one folder nest. Error: another process, or another thread, trains into it.
class RunLock {
 public:
  RunLock(const std::string& folder, const Where& where);

 private:
  std::shared_ptr<int> held_;  // null: the file system knows no locks
};

}  // namespace wick::loop
