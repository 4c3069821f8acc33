#include "trainer/compile/storage_tap.h"

#include <utility>

#include "trainer/compile/step_recorder.h"

namespace wick::compiled {

StorageTap& StorageTap::get() {
  static auto* tap = new StorageTap;
  return *tap;
}

void StorageTap::add(StepRecorder* r) {
  std::lock_guard lock(mutex_);
  if (recorders_.empty()) outer_ = set_storage_watcher(this);
  recorders_.push_back(r);
}

void StorageTap::remove(StepRecorder* r) {
  std::lock_guard lock(mutex_);
  std::erase(recorders_, r);
  if (recorders_.empty()) set_storage_watcher(std::exchange(outer_, nullptr));
}

void StorageTap::on_create(const Storage& storage) {
  std::lock_guard lock(mutex_);
  if (outer_ != nullptr) outer_->on_create(storage);
  for (StepRecorder* r : recorders_) r->on_create(storage);
}

void StorageTap::on_free(const Storage& storage) {
  std::lock_guard lock(mutex_);
  if (outer_ != nullptr) outer_->on_free(storage);
  for (StepRecorder* r : recorders_) r->on_free(storage);
}

}  // namespace wick::compiled
