// Weights: constants on the device. A constant that several graphs of one program have is uploaded
// once and freed with the last of them.
#pragma once

#include "runtime/backend/vulkan/ctx/mutex.h"
#include "runtime/backend/vulkan/vk/buffer.h"
#include "runtime/core/thread_pool.h"

namespace wick::vulkan {

class Context;

// A constant of a graph and its place.
struct Weight {
  const void* data = nullptr;
  uint64_t bytes = 0;
  // Identifies these bytes for all graphs as long as one holds them; null: private to this graph.
  const void* key = nullptr;
  Place place;
};

class Weights {
  struct Block;

 public:
  explicit Weights(Allocator& allocator) : allocator_(allocator), blocks_(allocator) {}
  ~Weights();

  // The weights that a graph holds; they are released when the graph is destroyed.
  class Hold {
   public:
    explicit Hold(Allocator& allocator) : blocks_(allocator) {}
    ~Hold() { release(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    void release();
    uint64_t made_bytes() const { return made_bytes_; }  // allocated for this graph

   private:
    friend class Weights;
    Weights* weights_ = nullptr;
    Array<Block*> blocks_;
    uint64_t made_bytes_ = 0;
  };

  // Finds or uploads the weights and sets their places. `beside` runs during the upload: tasks 0 to
  // `tasks` - 1, on the pool's threads.
  Status take(Context& context, Span<Weight> weights, Hold& hold, ThreadPool* pool, int64_t tasks,
              FunctionRef<void(int64_t)> beside);

 private:
  struct Entry {
    const void* key;
    uint64_t bytes, offset;
  };
  struct Block {
    explicit Block(Allocator& allocator) : buffers(allocator), entries(allocator) {}
    Buffers buffers;
    Array<Entry> entries;
    uint32_t holders = 0;
  };
  bool find(Weight& weight, Block** block) const;
  Status hold_block(Block* block, Hold& hold);
  Status make_block(Context& context, uint64_t bytes, Block** out);
  Status upload(Context& context, Span<const Weight> weights, ThreadPool* pool, int64_t tasks,
                FunctionRef<void(int64_t)> beside);
  void free_block(Block* block);

  Allocator& allocator_;
  Mutex lock_;
  Array<Block*> blocks_;
};

}  // namespace wick::vulkan
