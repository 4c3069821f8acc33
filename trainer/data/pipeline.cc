#include "trainer/data/loader_parts.h"

namespace wick::data {

DataLoader::Pipeline::Pipeline(const DataLoader& l, int workers, int prefetch)
    : loader_(l), slots_(static_cast<size_t>(workers) * static_cast<size_t>(prefetch)) {
  try {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& e) {
    if (threads_.empty()) {
      throw Error(std::string("[data_loader] no worker thread can be started: ") + e.what());
    }  // fewer threads make the same batches
  }
}

DataLoader::Pipeline::~Pipeline() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void DataLoader::Pipeline::restart(std::shared_ptr<Epoch> new_epoch) {
  {
    std::lock_guard lock(mutex_);
    epoch_ = std::move(new_epoch);
    take_next_ = epoch_->make_next;
    for (Slot& s : slots_) s = Slot();
  }
  changed_.notify_all();
}

bool DataLoader::Pipeline::take(LoaderPosition at, Batch& batch) {
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[static_cast<size_t>(at.batch) % slots_.size()];
  changed_.wait(lock, [&] { return slot.ready; });
  if (slot.end) return false;
  Slot taken = std::move(slot);
  slot = Slot();
  ++take_next_;
  lock.unlock();
  changed_.notify_all();
  if (taken.error) std::rethrow_exception(taken.error);
  batch = std::move(taken.batch);
  return true;
}

void DataLoader::Pipeline::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] {
      return stop_ || (epoch_ && !epoch_->ended && !epoch_->claiming &&
                       epoch_->make_next < take_next_ + static_cast<int64_t>(slots_.size()));
    });
    if (stop_) return;
    std::shared_ptr<Epoch> of = epoch_;
    of->claiming = true;
    LoaderPosition at{static_cast<int64_t>(of->number), of->make_next++};
    lock.unlock();
    Slot made;
    made.ready = true;
    Work work;
    bool failed = false;
    try {
      made.end = !loader_.claim(*of, at, work);
    } catch (...) {
      made.error = std::current_exception();
      failed = true;
    }
    lock.lock();
    of->claiming = false;
    of->ended = made.end || failed;
    changed_.notify_all();
    lock.unlock();
    if (!made.end && !failed) {
      try {
        made.batch = loader_.make(work);
      } catch (...) {
        made.error = std::current_exception();
      }
    }
    lock.lock();
    if (of != epoch_) continue;
    slots_[static_cast<size_t>(at.batch) % slots_.size()] = std::move(made);
    changed_.notify_all();
  }
}

}  // namespace wick::data
