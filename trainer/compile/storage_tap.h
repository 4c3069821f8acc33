// The one watcher of storages while steps are recorded. Internal to trainer/compile.
#pragma once

#include <mutex>
#include <vector>

#include "trainer/tensor/storage.h"

namespace wick::compiled {

class StepRecorder;

// Passes the storages of all threads on to the recorders. It is never destroyed, because another
// thread may be inside of it when the last recorder ends.
class StorageTap final : public StorageWatcher {
 public:
  static StorageTap& get();
  void add(StepRecorder* r);
  void remove(StepRecorder* r);
  void on_create(const Storage& storage) override;
  void on_free(const Storage& storage) override;

 private:
  std::mutex mutex_;
  std::vector<StepRecorder*> recorders_;
  StorageWatcher* outer_ = nullptr;
};

}  // namespace wick::compiled
