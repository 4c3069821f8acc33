#include "runtime/backend/vulkan/ctx/weights.h"

#include <cstring>
#include <new>

#include "runtime/backend/vulkan/ctx/context.h"

namespace wick::vulkan {

Weights::~Weights() {
  for (Block* block : blocks_) free_block(block);
}

void Weights::free_block(Block* block) {
  block->~Block();
  allocator_.deallocate(block, sizeof(Block), alignof(Block));
}

void Weights::Hold::release() {
  if (weights_ == nullptr) return;
  MutexLock lock(weights_->lock_);
  for (Block* block : blocks_) {
    if (--block->holders > 0) continue;
    for (size_t i = 0; i < weights_->blocks_.size(); ++i) {
      if (weights_->blocks_[i] != block) continue;
      weights_->blocks_[i] = weights_->blocks_[weights_->blocks_.size() - 1];
      (void)weights_->blocks_.resize(weights_->blocks_.size() - 1);
      break;
    }
    weights_->free_block(block);
  }
  blocks_.clear();
  made_bytes_ = 0;
  weights_ = nullptr;
}

bool Weights::find(Weight& weight, Block** block) const {
  if (weight.key == nullptr) return false;
  for (Block* b : blocks_) {
    for (const Entry& e : b->entries) {
      if (e.key != weight.key || e.bytes != weight.bytes) continue;
      weight.place = b->buffers.at(e.offset);
      *block = b;
      return true;
    }
  }
  return false;
}

Status Weights::hold_block(Block* block, Hold& hold) {
  for (Block* b : hold.blocks_) {
    if (b == block) return {};
  }
  WICK_TRY(hold.blocks_.push_back(block));
  ++block->holders;
  return {};
}

Status Weights::make_block(Context& context, uint64_t bytes, Block** out) {
  WICK_TRY(blocks_.reserve(blocks_.size() + 1));
  void* memory = allocator_.allocate(sizeof(Block), alignof(Block));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "no memory for weights");
  auto* block = new (memory) Block(allocator_);
  const MemoryKind kind = context.unified() ? MemoryKind::kUnified : MemoryKind::kDevice;
  Status s = block->buffers.create(context.device(), bytes, kind, context.max_allocation());
  if (!s.ok()) {
    free_block(block);
    return annotate(s, "weights: ");
  }
  *out = block;
  return blocks_.push_back(block);
}

Status Weights::take(Context& context, Span<Weight> weights, Hold& hold, ThreadPool* pool,
                     int64_t tasks, FunctionRef<void(int64_t)> beside) {
  MutexLock lock(lock_);
  hold.weights_ = this;
  Array<Weight> missing(allocator_);
  Array<uint64_t> offsets(allocator_);
  Array<uint32_t> which(allocator_);
  Bump places(context.max_allocation());
  for (uint32_t i = 0; i < weights.size(); ++i) {
    Block* block = nullptr;
    if (find(weights[i], &block)) {
      WICK_TRY(hold_block(block, hold));
      continue;
    }
    WICK_TRY(offsets.push_back(places.place(weights[i].bytes)));
    WICK_TRY(which.push_back(i));
  }
  if (which.empty()) {
    parallel_for(pool, tasks, [&](int64_t task, int) { beside(task); });
    return {};
  }
  Block* block = nullptr;
  WICK_TRY(make_block(context, places.size(), &block));
  if (block == nullptr) return Status(Code::kInternal, "no block of weights was made");
  block->holders = 1;
  if (Status s = hold.blocks_.push_back(block); !s.ok()) {
    (void)blocks_.resize(blocks_.size() - 1);
    free_block(block);
    return s;
  }
  hold.made_bytes_ = block->buffers.bytes();
  for (size_t i = 0; i < which.size(); ++i) {
    Weight& weight = weights[which[i]];
    weight.place = block->buffers.at(offsets[i]);
    WICK_TRY(missing.push_back(weight));
  }
  WICK_TRY(upload(context, missing, pool, tasks, beside));
  // The weights are complete, so from here on other graphs may find them.
  for (size_t i = 0; i < which.size(); ++i) {
    const Weight& weight = weights[which[i]];
    if (weight.key != nullptr)
      WICK_TRY(block->entries.push_back({weight.key, weight.bytes, offsets[i]}));
  }
  return {};
}

// If the host can access the memory, all threads copy pieces; otherwise one task uploads to the
// device.
Status Weights::upload(Context& context, Span<const Weight> weights, ThreadPool* pool,
                       int64_t tasks, FunctionRef<void(int64_t)> beside) {
  constexpr uint64_t kPiece = 2 << 20;
  struct Piece {
    const Weight* weight;
    uint64_t first, bytes;
  };
  Array<Piece> pieces(allocator_);
  Array<Context::Upload> uploads(allocator_);
  for (const Weight& w : weights) {
    if (w.bytes > 0 && w.place.buffer->mapped() == nullptr)
      WICK_TRY(uploads.push_back({w.data, w.place, w.bytes}));
    for (uint64_t at = 0; at < w.bytes && w.place.buffer->mapped() != nullptr; at += kPiece)
      WICK_TRY(pieces.push_back({&w, at, w.bytes - at < kPiece ? w.bytes - at : kPiece}));
  }
  Status uploaded;
  const int64_t device = uploads.empty() ? 0 : 1;
  parallel_for(pool, tasks + device + static_cast<int64_t>(pieces.size()), [&](int64_t task, int) {
    if (task < device) {
      uploaded = context.upload(uploads);
    } else if (task < device + tasks) {
      beside(task - device);
    } else {
      const Piece& p = pieces[static_cast<size_t>(task - device - tasks)];
      memcpy(p.weight->place.buffer->mapped() + p.weight->place.offset + p.first,
             static_cast<const std::byte*>(p.weight->data) + p.first, p.bytes);
    }
  });
  return uploaded;
}

}  // namespace wick::vulkan
