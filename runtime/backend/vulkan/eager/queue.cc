#include "runtime/backend/vulkan/eager/queue.h"

#include <cstdio>
#include <cstring>
#include <new>

namespace wick::vulkan {
namespace {

constexpr Access kAll = {kShaderAccess.stages | kCopyAccess.stages,
                         kShaderAccess.access | kCopyAccess.access};

constexpr uint64_t kNow = 1;  // a deadline that has passed

Place place_of(const Touch& t) { return {t.memory->buffer, t.memory->offset + t.offset}; }
uint64_t words(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

EagerQueue::~EagerQueue() {
  for (Batch& b : batches_) free_chunks(b.staging);
  free_chunks(free_chunks_);
}

void EagerQueue::free_chunks(Chunk*& list) {
  while (list != nullptr) {
    Chunk* next = list->next;
    list->~Chunk();
    context_.allocator().deallocate(list, sizeof(Chunk), alignof(Chunk));
    list = next;
  }
}

Status EagerQueue::open() {
  for (Batch& b : batches_) {
    WICK_TRY(b.commands.create(context_.device()));
    WICK_TRY(b.fault.create(context_.device(), 4, MemoryKind::kReadback));
  }
  return touched_.reserve(size_t{kCommands} * kMaxBindings);
}

Status EagerQueue::begin() {
  if (recording_ != nullptr) {
    if (recording_->dispatches < kDispatches && recording_->count < kCommands &&
        recording_->staged < kMostStaged)
      return {};
    WICK_TRY(flush());
  }
  Batch& b = batches_[next_ % kBatches];
  if (b.number > finished_) WICK_TRY(wait(b.number));
  WICK_TRY(b.sets.create(context_.device(), kDispatches, kDispatches * kMaxBindings));
  memset(b.fault.mapped(), 0, 4);
  WICK_TRY(b.commands.begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
  b.commands.barrier(kAll, kAll);  // after the commands of earlier batches
  touched_.clear();
  b.number = next_++;
  b.dispatches = b.count = 0;
  b.staged = 0;
  recording_ = &b;
  return {};
}

// Adds a barrier if the command must not overtake earlier ones.
Status EagerQueue::order(Span<const Touch> touches) {
  bool conflict = false;
  for (const Touch& t : touches) {
    if (t.memory == nullptr) continue;
    const uint64_t begin = t.memory->offset + t.offset, end = begin + words(t.bytes);
    for (size_t i = 0; i < touched_.size() && !conflict; ++i) {
      const Touch& o = touched_[i];
      const uint64_t other = o.memory->offset + o.offset;
      conflict = (t.write || o.write) && o.memory->buffer == t.memory->buffer && other < end &&
                 begin < other + words(o.bytes);
    }
  }
  if (conflict) {
    recording_->commands.barrier(kAll, kAll);
    touched_.clear();
  }
  for (const Touch& t : touches) {
    if (t.memory == nullptr) continue;
    t.memory->last_use = recording_->number;
    WICK_TRY(touched_.push_back(t));
  }
  ++recording_->count;
  return {};
}

Status EagerQueue::dispatch(const Dispatch& d, Span<const Touch> touches, const CallNote& note) {
  // Everything that can fail or take long is done before the batch is changed.
  WICK_ASSIGN(PipelineRef pipeline, context_.pipeline(d.shader, {d.spec, d.spec_count}));
  WICK_ASSIGN(VkDescriptorSetLayout layout, context_.set_layout(d.operands));
  WICK_TRY(begin());
  Batch& b = *recording_;
  VkDescriptorSet set = VK_NULL_HANDLE;
  WICK_TRY(b.sets.allocate({&layout, 1}, &set));
  VkDescriptorBufferInfo ranges[kMaxBindings];
  for (uint32_t k = 0; k < d.operands; ++k) {
    const Touch& t = touches[k];
    if (t.memory == nullptr) {
      ranges[k] = {b.fault.handle(), 0, 4};
    } else {
      ranges[k] = {t.memory->buffer->handle(), t.memory->offset + t.offset, t.bytes};
    }
  }
  b.sets.write(set, {ranges, d.operands});
  WICK_TRY(order(touches));
  uint32_t push[kMaxPushBytes / 4];
  for (uint32_t i = 0; i < d.push_words; ++i) push[i] = d.push[i];
  b.notes[b.dispatches++] = note;
  if (d.fault_push != 0) push[d.fault_push] = b.dispatches;
  b.commands.dispatch(pipeline, set, {push, d.push_words}, d.groups);
  return {};
}

Status EagerQueue::copy(const Touch& from, const Touch& to) {
  if (from.bytes == 0) return {};
  WICK_TRY(begin());
  const Touch touches[] = {from, to};
  WICK_TRY(order(touches));
  recording_->commands.copy(place_of(from), place_of(to), from.bytes);
  return {};
}

Status EagerQueue::fill(const Touch& to, uint32_t word) {
  if (to.bytes == 0) return {};
  WICK_TRY(begin());
  WICK_TRY(order({&to, 1}));
  recording_->commands.fill(place_of(to), words(to.bytes), word);
  return {};
}

Result<EagerQueue::Chunk*> EagerQueue::chunk(Batch& batch) {
  if (batch.staging != nullptr && batch.staging->used < kChunkBytes) return batch.staging;
  Chunk* made = free_chunks_;
  if (made != nullptr) {
    free_chunks_ = made->next;
  } else {
    Allocator& allocator = context_.allocator();
    void* room = allocator.allocate(sizeof(Chunk), alignof(Chunk));
    if (room == nullptr) return Status(Code::kOutOfMemory, "no memory for an upload");
    made = new (room) Chunk;
    if (Status s = made->buffer.create(context_.device(), kChunkBytes, MemoryKind::kUpload);
        !s.ok()) {
      made->next = nullptr;
      free_chunks(made);
      return annotate(s, "an upload: ");
    }
  }
  made->used = 0;
  made->next = batch.staging;
  batch.staging = made;
  return made;
}

Status EagerQueue::stage(const void* from, const Touch& to) {
  for (uint64_t done = 0; done < to.bytes;) {
    WICK_TRY(begin());
    Batch& b = *recording_;
    WICK_ASSIGN(Chunk * c, chunk(b));
    uint64_t n = to.bytes - done < kChunkBytes - c->used ? to.bytes - done : kChunkBytes - c->used;
    memcpy(c->buffer.mapped() + c->used, static_cast<const std::byte*>(from) + done, n);
    Touch piece = to;
    piece.offset += done;
    piece.bytes = n;
    WICK_TRY(order({&piece, 1}));
    b.commands.copy({&c->buffer, c->used}, place_of(piece), n);
    c->used += words(n);
    b.staged += n;
    done += n;
  }
  return {};
}

Status EagerQueue::read_back(const Touch& from, void* to) {
  if (from.memory->mapped() != nullptr) {
    WICK_TRY(wait(from.memory->last_use));
    memcpy(to, from.memory->mapped() + from.offset, from.bytes);
    return {};
  }
  if (readback_.mapped() == nullptr) {
    WICK_TRY(annotate(readback_.create(context_.device(), kChunkBytes, MemoryKind::kReadback),
                      "a download: "));
  }
  for (uint64_t done = 0; done < from.bytes; done += kChunkBytes) {
    const uint64_t n = from.bytes - done < kChunkBytes ? from.bytes - done : kChunkBytes;
    Touch piece = from;
    piece.offset += done;
    piece.bytes = n;
    WICK_TRY(begin());
    WICK_TRY(order({&piece, 1}));
    recording_->commands.copy(place_of(piece), {&readback_, 0}, n);
    WICK_TRY(wait(recording_->number));
    memcpy(static_cast<std::byte*>(to) + done, readback_.mapped(), n);
  }
  return {};
}

Status EagerQueue::flush() {
  if (recording_ == nullptr) return {};
  Batch& b = *recording_;
  recording_ = nullptr;
  dead_ = true;
  b.commands.barrier(kAll, kHostRead);
  WICK_TRY(b.commands.end());
  WICK_TRY(context_.submit(b.commands, b.submission));
  dead_ = false;
  submitted_ = b.number;
  return {};
}

Status EagerQueue::finish(Batch& b, uint64_t deadline) {
  WICK_TRY(context_.wait(b.submission, deadline));
  finished_ = b.number;
  while (b.staging != nullptr) {
    Chunk* next = b.staging->next;
    b.staging->next = free_chunks_;
    free_chunks_ = b.staging;
    b.staging = next;
  }
  uint32_t fault = 0;
  memcpy(&fault, b.fault.mapped(), sizeof(fault));
  if (fault == 0 || fault_[0] != 0) return {};
  if (fault > b.dispatches) {
    dead_ = true;
    return Status(Code::kDevice, "the Vulkan device noted a fault of no dispatch");
  }
  const CallNote& note = b.notes[fault - 1];
  const char* file = note.file;
  for (const char* p = file; *p != 0; ++p) {
    if (*p == '/' || *p == '\\') file = p + 1;
  }
  snprintf(fault_, sizeof(fault_), "%s in the %s of %.100s:%u", note.fault_text,
           find_op(note.op)->name, file, note.line);
  return {};
}

Status EagerQueue::wait(uint64_t batch) {
  if (recording_ != nullptr && recording_->number <= batch) WICK_TRY(flush());
  while (finished_ < batch && finished_ < submitted_)
    WICK_TRY(finish(batches_[(finished_ + 1) % kBatches]));
  if (finished_ < batch) return Status(Code::kDevice, "the Vulkan device was given nothing");
  return {};
}

Status EagerQueue::wait_all() { return wait(next_ - 1); }

void EagerQueue::settle() {
  // A wait that fails has settled the device, or has given it up.
  while (finished_ < submitted_ && finish(batches_[(finished_ + 1) % kBatches]).ok()) {
  }
}

Status EagerQueue::reap() {
  while (finished_ < submitted_) {
    const Status s = finish(batches_[(finished_ + 1) % kBatches], kNow);
    if (s.code() == Code::kDeadline) return {};
    WICK_TRY(s);
  }
  return {};
}

Status EagerQueue::take_fault() {
  if (fault_[0] == 0) return {};
  Status s = error(Code::kInvalidArgument, "%s", fault_);
  fault_[0] = 0;
  return s;
}

}  // namespace wick::vulkan
