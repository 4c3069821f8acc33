// EagerQueue: commands recorded as they come, a few command buffers in flight. Barriers are set
// where two commands touch the same bytes and one writes.
#pragma once

#include "runtime/backend/vulkan/eager/pool.h"
#include "runtime/backend/vulkan/graph/lower.h"
#include "runtime/backend/vulkan/vk/descriptors.h"

namespace wick::vulkan {

// Bytes that a command touches.
struct Touch {
  VulkanMemory* memory = nullptr;
  uint64_t offset = 0, bytes = 0;  // in the memory
  bool write = false;
};

// Where a call came from, for what only the device finds out.
struct CallNote {
  OpId op = OpId::kNone;
  const char* file = "";
  uint32_t line = 0;
  const char* fault_text = "";  // what a shader that notes a fault means
};

class EagerQueue {
 public:
  explicit EagerQueue(Context& context) : context_(context), touched_(context.allocator()) {}
  EagerQueue(const EagerQueue&) = delete;
  EagerQueue& operator=(const EagerQueue&) = delete;
  ~EagerQueue();
  Status open();
  // Nothing may be freed while the device is at work: waits, as well as it can be known.
  void settle();

  // `touches`: one an operand; kFaultOperand's has no memory.
  Status dispatch(const Dispatch& d, Span<const Touch> touches, const CallNote& note);
  Status copy(const Touch& from, const Touch& to);
  Status fill(const Touch& to, uint32_t word);
  // Host bytes, read before it returns, by way of staging buffers.
  Status stage(const void* from, const Touch& to);
  // Waits.
  Status read_back(const Touch& from, void* to);

  Status flush();
  Status wait(uint64_t batch);  // until that one is done, and those before it
  Status wait_all();
  Status reap();  // notes what is done by now, without waiting

  uint64_t finished() const { return finished_; }
  bool dead() const { return dead_; }  // it refused a batch
  size_t in_flight() const { return static_cast<size_t>(next_ - 1 - finished_); }
  // What shaders met since the last time it was asked. After any other error of the queue itself
  // nothing is given to it any more: what was recorded is lost.
  Status take_fault();

 private:
  static constexpr uint32_t kBatches = 4, kDispatches = 64, kCommands = 256;
  static constexpr uint64_t kChunkBytes = 4 << 20, kMostStaged = 64 << 20;  // of a batch
  struct Chunk {
    Buffer buffer;
    uint64_t used = 0;
    Chunk* next = nullptr;
  };
  struct Batch {
    CommandBuffer commands;
    Submission submission;
    DescriptorSets sets;
    Buffer fault;
    uint64_t number = 0;  // counted from 1; 0: not in use
    uint32_t dispatches = 0, count = 0;
    CallNote notes[kDispatches];
    Chunk* staging = nullptr;
    uint64_t staged = 0;
  };
  Status begin();  // a batch to record into
  Status order(Span<const Touch> touches);
  Status finish(Batch& batch, uint64_t deadline = 0);
  Result<Chunk*> chunk(Batch& batch);
  void free_chunks(Chunk*& list);

  Context& context_;
  Batch batches_[kBatches];
  Batch* recording_ = nullptr;
  bool dead_ = false;
  uint64_t next_ = 1, submitted_ = 0, finished_ = 0;
  Array<Touch> touched_;  // since the last barrier
  Chunk* free_chunks_ = nullptr;
  Buffer readback_;
  char fault_[160] = "";
};

}  // namespace wick::vulkan
