// Runs ops one at a time on a Vulkan device, for code that keeps tensors there between them (the
// trainer).
//
// Nothing here waits unless it says so: calls are recorded into a command buffer, which is
// submitted when it is full or somebody waits. The queue works in order, so freed memory may be
// reused at once for commands that are recorded later. Safe to use from several threads.
#pragma once

#include <atomic>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/core/async_work.h"
#include "runtime/core/owned.h"
#include "runtime/kernels/kernel.h"

namespace wick {

class VulkanMemory;  // one allocation on a device

// A tensor of a call.
struct VulkanOperand {
  VulkanMemory* memory = nullptr;  // null: absent, or on the host if view.data is set
  uint64_t offset = 0;             // of element (0, ..., 0), in bytes
  TensorView view;
};

struct VulkanCall {
  OpId op = OpId::kNone;
  const void* attrs = nullptr;
  Span<const VulkanOperand> in;   // any strides
  Span<const VulkanOperand> out;  // contiguous, from the start of their memory, no inputs
  // For the text of an error that only a run finds; the name must stay valid.
  const char* file = "";
  uint32_t line = 0;
};

class VulkanEager final : private AsyncWork {
 public:
  // Fails with a one-line text, like VulkanBackend::create().
  static Result<Owned<VulkanEager>> create(Allocator& allocator, const VulkanOptions& options);
  static void destroy(VulkanEager* eager);  // waits; every memory must have been freed

  // Returns the index of options.device in the loader's list, by name or (for none) the best.
  static Result<int> find(const char* device);
  static Result<int> count();  // number of devices, usable or not

  const char* device_name() const;

  // Returns the error after which the device cannot be used any more; "" if there is none. The text
  // stays valid. May be called from any thread.
  const char* broken() const { return is_broken_.load(std::memory_order_acquire) ? broken_ : ""; }

  // The contents are undefined. Returns kOutOfMemory only after everything kept for reuse was
  // released.
  Result<VulkanMemory*> allocate(uint64_t bytes);
  void free(VulkanMemory* memory);  // the device may still use it
  uint64_t live_bytes() const;
  uint64_t kept_bytes() const;  // for reuse, in addition to the live ones

  // `from` has been read when it returns; with `wait` the device has finished as well.
  Status upload(VulkanMemory& to, const void* from, uint64_t bytes, bool wait);
  // Waits for the commands that write `from`.
  Status download(VulkanMemory& from, uint64_t offset, void* to, uint64_t bytes);
  // Fills the first `bytes`, rounded up to words.
  Status fill(VulkanMemory& to, uint64_t bytes, uint32_t word);
  // Copies between any two views of the same shape and dtype in different memory; a strided `to`
  // needs elements of four or eight bytes.
  Status copy(const VulkanOperand& from, const VulkanOperand& to);
  // Fails with kUnsupported and the reason if there is no shader; then nothing was done.
  Status run(const VulkanCall& call);
  // Returns false for inputs that must be on the host (VulkanOperand::view.data).
  static bool reads_input(OpId op, size_t input);

  // Submits the recorded commands.
  Status flush();
  // Waits until the device has finished everything. Reports, once each, what shaders have found
  // since, such as an index out of range.
  Status synchronize();
  // Returns the number of command buffers that were not waited for.
  size_t in_flight() const;

 private:
  void wait_for_all() override;  // for wick::synchronize()
  struct State;
  VulkanEager() = default;
  ~VulkanEager() = default;
  Status usable() const;
  Status checked(Status s);  // records an error after which the device is unusable
  Status record(const VulkanCall& call);

  State* state_ = nullptr;
  std::atomic<bool> is_broken_{false};
  char broken_[200] = "";  // written once, before is_broken_
};

}  // namespace wick
