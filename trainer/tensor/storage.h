// Storage: refcounted, 64-byte aligned bytes with a version that every in-place write increments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "trainer/tensor/intrusive.h"

namespace wick {

// The bytes of a tensor and of all of its views, and the version that each write raises.
class Storage final : public Counted {
 public:
  // Makes an uninitialized storage. Throws Error (kOutOfMemory). `born`: the line of the call that
  // made it.
  static IntrusivePtr<Storage> create(size_t bytes, const std::source_location& born = {});
  // Takes ownership of memory of a Vulkan device, given by its address
  // (trainer/tensor/device/vulkan_memory.h). It is not counted as host memory.
  static IntrusivePtr<Storage> on_vulkan(void* address, size_t bytes,
                                         const std::source_location& born = {});
  ~Storage();

  void* data() const { return data_; }  // for a Vulkan tensor not an address of the host
  // Returns the size in bytes.
  size_t bytes() const { return bytes_; }
  // Autograd compares it with a saved tensor's version.
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  // `what`: a string literal with the name of the writing function; `where`: the user's line.
  void bump_version(const char* what,
                    const std::source_location& where = std::source_location::current()) {
    version_.fetch_add(1, std::memory_order_relaxed);
    last_write_ = what;
    last_write_at_ = where;
  }
  // Used for a copy that represents bytes of this version.
  void set_version(uint32_t version) { version_.store(version, std::memory_order_relaxed); }
  // The op that wrote last and its line, and the line that made the storage.
  const char* last_write() const { return last_write_; }  // null: never written
  const std::source_location& last_write_at() const { return last_write_at_; }
  const std::source_location& born() const { return born_; }

  // The mark that an optimizer leaves on a gradient it has applied, so that the next step can
  // detect one that was not cleared. Backward's sums raise the version through bump_accumulated().
  // Which step applied the gradient, its version then, and whether a backward added to it since.
  struct Applied {
    int64_t step = 0;       // 0: never applied
    uint32_t version = 0;   // right after that step
    bool added_to = false;  // a backward accumulated into it since
  };
  // Returns that mark.
  const Applied& applied() const { return applied_; }
  // Sets the mark: `step` has applied the gradient as it is now.
  void set_applied(int64_t step) { applied_ = {step, version(), false}; }
  // Raises the version after a backward added to the gradient, and notes that in the mark if
  // nothing else has written the gradient since the step.
  void bump_accumulated() {
    if (applied_.step != 0 && applied_.version == version()) applied_.added_to = true;
    bump_version("backward");
  }
  // This is the sum of `old` and something: create_graph adds out of place.
  void accumulated_from(const Storage& old) {
    applied_ = old.applied_;
    applied_.added_to =
        applied_.added_to || (applied_.step != 0 && applied_.version == old.version());
  }

 private:
  Storage(void* data, size_t bytes, const std::source_location& born)
      : data_(data), bytes_(bytes), born_(born) {}

  void* data_;
  size_t bytes_;
  std::atomic<uint32_t> version_{0};
  Applied applied_;
  const char* last_write_ = nullptr;
  std::source_location last_write_at_, born_;
};

// The packing buffer of a thread's kernels; it is counted separately from tensors.
class ScratchBuffer {
 public:
  ScratchBuffer() = default;
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;
  ~ScratchBuffer() { release(); }
  // Returns 64-byte aligned, uninitialized memory; null for 0. Throws Error (kOutOfMemory).
  void* at_least(size_t bytes);

 private:
  void release();
  void* data_ = nullptr;
  size_t bytes_ = 0;
};
// Returns the present total of all threads' buffers, which are kept for the next kernels.
size_t scratch_bytes();

// The bytes of the live storages of all threads, as requested (not rounded up to what is
// allocated), and their peak since the last reset.
size_t live_bytes();
size_t peak_bytes();
void reset_peak_bytes();  // to the present value

// While one is set, it observes every storage of the process; without one, the cost is the test of
// a pointer.
class StorageWatcher {
 public:
  // Called when a storage is made and when it is freed, from the thread that does so.
  virtual void on_create(const Storage& storage) = 0;
  virtual void on_free(const Storage& storage) = 0;

 protected:
  ~StorageWatcher() = default;
};
// Returns the former watcher. No other thread may be making or freeing storages.
StorageWatcher* set_storage_watcher(StorageWatcher* watcher);

// Freed blocks are cached for the next tensor of their size class. Returns the cached bytes:
size_t cached_bytes();
// Returns the cached blocks to the system.
void empty_cache();

}  // namespace wick
