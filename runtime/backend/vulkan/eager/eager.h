// Ops one at a time on a Vulkan device, for who keeps tensors there between them (the trainer).
//
// Nothing here waits unless it says so: calls are recorded into a command buffer, which goes to the
// queue when it is full or somebody waits. The queue works in order, so memory that was freed may
// be given out again at once for what is recorded later. Safe to use from several threads.
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
  VulkanMemory* memory = nullptr;  // null: absent, or known on the host where view.data is set
  uint64_t offset = 0;             // of element (0, ..., 0), in bytes
  TensorView view;
};

struct VulkanCall {
  OpId op = OpId::kNone;
  const void* attrs = nullptr;
  Span<const VulkanOperand> in;   // any strides
  Span<const VulkanOperand> out;  // contiguous, at the beginning of their memory, of no input
  // For the message of what only a run finds out; the name must live on.
  const char* file = "";
  uint32_t line = 0;
};

class VulkanEager final : private AsyncWork {
 public:
  // As VulkanBackend::create(): one line why not.
  static Result<Owned<VulkanEager>> create(Allocator& allocator, const VulkanOptions& options);
  static void destroy(VulkanEager* eager);  // waits; every memory must be free

  // The number of options.device in the loader's list: of a name, or of none (the best).
  static Result<int> find(const char* device);
  static Result<int> count();  // of devices, usable or not

  const char* device_name() const;

  // The error after which nothing can be done with the device any more; "" while all is well. The
  // text stays. From any thread.
  const char* broken() const { return is_broken_.load(std::memory_order_acquire) ? broken_ : ""; }

  // Contents undefined. kOutOfMemory after all that is kept for reuse was given back.
  Result<VulkanMemory*> allocate(uint64_t bytes);
  void free(VulkanMemory* memory);  // the device may still use it
  uint64_t live_bytes() const;
  uint64_t kept_bytes() const;  // for reuse, beside the live ones

  // `from` is read before it returns; `wait`: so is the device done with it.
  Status upload(VulkanMemory& to, const void* from, uint64_t bytes, bool wait);
  // Waits for what writes `from`.
  Status download(VulkanMemory& from, uint64_t offset, void* to, uint64_t bytes);
  // The first `bytes`, rounded up to words.
  Status fill(VulkanMemory& to, uint64_t bytes, uint32_t word);
  // Elements of one shape between any two views of one dtype, which share no memory; `to` by
  // strides needs elements of four or eight bytes.
  Status copy(const VulkanOperand& from, const VulkanOperand& to);
  // kUnsupported, with the reason, for what has no shader: nothing was done.
  Status run(const VulkanCall& call);
  // False for inputs that are wanted on the host (VulkanOperand::view.data).
  static bool reads_input(OpId op, size_t input);

  // Hands what was recorded to the device.
  Status flush();
  // Waits until the device is done with all of it. Once each: what shaders met since, an index out
  // of range.
  Status synchronize();
  // Command buffers that the device has not been waited for.
  size_t in_flight() const;

 private:
  void wait_for_all() override;  // for wick::synchronize()
  struct State;
  VulkanEager() = default;
  ~VulkanEager() = default;
  Status usable() const;
  Status checked(Status s);  // notes an error after which the device is of no use
  Status record(const VulkanCall& call);

  State* state_ = nullptr;
  std::atomic<bool> is_broken_{false};
  char broken_[200] = "";  // written once, before is_broken_
};

}  // namespace wick
