// Keys and values of earlier tokens, so that attention computes those of each token only once. The
// logits that a model gives with a cache are those that it gives without, bit for bit, however the
// text is cut into pieces (docs/use/kv-cache.md).
#pragma once

#include <vector>

#include "trainer/nn/module.h"

namespace wick::nn {

// What attention of one layer reads.
struct KeysValues {
  Tensor keys, values;  // [B, heads, tokens, size]
};

// What the modules of a causal model ask for the keys and values of earlier tokens. KvCache keeps
// them; a capture puts the inputs and outputs of a graph in its place (trainer/capture/decoder.h).
class KvStore {
 public:
  virtual ~KvStore() = default;
  // Returns the positions of tokens [B, T], which follow the earlier ones: int64 [T].
  virtual Tensor positions(const Arg& tokens) = 0;
  // Returns where the tokens at these positions may look: bool [T, tokens], true where they may;
  // undefined: everywhere.
  virtual Tensor seen(const Tensor& positions, const Where& where) = 0;
  // Adds a layer's key and value [B, heads, T, size] of the new tokens, and returns those of all
  // tokens.
  virtual KeysValues extend(int64_t layer, const Tensor& key, const Tensor& value,
                            const Where& where) = 0;
  // Counts the new tokens among the earlier ones: each layer has been extended.
  virtual void advance() = 0;
  // Forgets the new tokens: a forward did not come to its end.
  virtual void discard() {}
};

// Holds keys and values [batch_size, num_heads, max_seq_len, head_dim] of each layer in buffers
// that are allocated once. Nothing of it is recorded for gradients, or captured.
class KvCache : public KvStore {
 public:
  // Throws Error for sizes below 1.
  KvCache(int64_t batch_size, int64_t max_seq_len, int64_t num_layers, int64_t num_heads,
          int64_t head_dim, DType dtype = DType::kF32, const Device& device = "cpu");

  // Writes a layer's key and value [batch_size, num_heads, T, head_dim] of the T tokens behind the
  // cached ones. They count from advance() on; until then another update() replaces them. Throws
  // Error for another shape or dtype, or if there is no room for T more tokens.
  void update(int64_t layer, const Tensor& key, const Tensor& value,
              Where where = Where::current());
  // Returns the layer's keys and values [batch_size, num_heads, n, head_dim] of the cached tokens
  // and of the last update(): views of the buffers.
  KeysValues get(int64_t layer, Where where = Where::current()) const;
  // Counts the tokens of the last update() as cached. Throws Error if layers had different numbers.
  void advance() override;
  // Forgets the tokens of update() that do not count yet.
  void discard() override;
  // Empties the cache; the buffers stay.
  void reset();

  // Return the number of cached tokens, and the most that there is room for.
  int64_t length() const { return length_; }
  int64_t max_seq_len() const { return most_; }
  // Returns the bytes of the buffers.
  size_t get_memory_usage() const;

  Tensor positions(const Arg& tokens) override;
  Tensor seen(const Tensor& positions, const Where& where) override;
  KeysValues extend(int64_t layer, const Tensor& key, const Tensor& value,
                    const Where& where) override;

 private:
  struct Layer {
    Tensor keys, values;
    int64_t added = 0;  // tokens of the last update()
  };
  const Layer& at(const char* op, int64_t layer, const Where& where) const;
  void check_room(const char* op, int64_t count, const Where& where) const;

  std::vector<Layer> layers_;
  int64_t most_, length_ = 0;
};

}  // namespace wick::nn
