// EagerQueue: records commands as they come, with a few command buffers in flight. It adds barriers
// where two commands access the same bytes and one of them writes.
#pragma once

#include "runtime/backend/vulkan/eager/pool.h"
#include "runtime/backend/vulkan/graph/lower.h"
#include "runtime/backend/vulkan/vk/descriptors.h"

namespace wick::vulkan {

// Bytes that a command accesses.
struct Touch {
  VulkanMemory* memory = nullptr;
  uint64_t offset = 0, bytes = 0;  // within the memory
  bool write = false;
};

// The origin of a call, for errors that only the device finds.
struct CallNote {
  OpId op = OpId::kNone;
  const char* file = "";
  uint32_t line = 0;
  const char* fault_text = "";  // meaning of a fault that a shader reports
};

class EagerQueue {
 public:
  explicit EagerQueue(Context& context) : context_(context), touched_(context.allocator()) {}
  EagerQueue(const EagerQueue&) = delete;
  EagerQueue& operator=(const EagerQueue&) = delete;
  ~EagerQueue();
  Status open();
  // Nothing may be freed while the device is working: waits as far as that can be known.
  void settle();

  // `touches`: one per operand; kFaultOperand's has no memory.
  Status dispatch(const Dispatch& d, Span<const Touch> touches, const CallNote& note);
  Status copy(const Touch& from, const Touch& to);
  Status fill(const Touch& to, uint32_t word);
  // Copies host bytes, which have been read when it returns, through staging buffers.
  Status stage(const void* from, const Touch& to);
  // Waits.
  Status read_back(const Touch& from, void* to);

  Status flush();
  Status wait(uint64_t batch);  // until that batch and all before it are done
  Status wait_all();
  Status reap();  // notes what is done by now, without waiting

  uint64_t finished() const { return finished_; }
  bool dead() const { return dead_; }  // it refused a batch
  size_t in_flight() const { return static_cast<size_t>(next_ - 1 - finished_); }
  // Returns what shaders have found since the last call. After any other error of the queue itself
  // nothing is submitted any more, and recorded commands are lost.
  Status take_fault();

 private:
  static constexpr uint32_t kBatches = 4, kDispatches = 64, kCommands = 256;
  static constexpr uint64_t kChunkBytes = 4 << 20, kMostStaged = 64 << 20;  // per batch
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
  Status begin();  // starts a batch to record into
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
