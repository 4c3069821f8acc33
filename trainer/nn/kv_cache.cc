#include "trainer/nn/kv_cache.h"

#include "trainer/nn/default_init.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/tracer.h"

namespace wick::nn {

KvCache::KvCache(int64_t batch_size, int64_t max_seq_len, int64_t num_layers, int64_t num_heads,
                 int64_t head_dim, DType dtype, const Device& device)
    : most_(max_seq_len) {
  const std::pair<const char*, int64_t> sizes[] = {{"batch_size", batch_size},
                                                   {"max_seq_len", max_seq_len},
                                                   {"num_layers", num_layers},
                                                   {"num_heads", num_heads},
                                                   {"head_dim", head_dim}};
  for (const auto& [name, value] : sizes) {
    if (value < 1) {
      refuse("KvCache", std::string(name) + " must be positive, got " + std::to_string(value));
    }
  }
  auto buffer = [&] {
    return zeros({batch_size, num_heads, max_seq_len, head_dim}, dtype).to(device);
  };
  for (int64_t i = 0; i < num_layers; ++i) layers_.push_back({buffer(), buffer()});
}

const KvCache::Layer& KvCache::at(const char* op, int64_t layer, const Where& where) const {
  if (layer < 0 || static_cast<size_t>(layer) >= layers_.size()) {
    throw_error(op,
                "there is no layer " + std::to_string(layer) + ", the cache has " +
                    std::to_string(layers_.size()),
                where);
  }
  return layers_[static_cast<size_t>(layer)];
}

void KvCache::check_room(const char* op, int64_t count, const Where& where) const {
  if (count <= most_ - length_) return;
  throw_error(op,
              "the cache has room for " + std::to_string(most_) + " tokens, holds " +
                  std::to_string(length_) + " and cannot take " + std::to_string(count) +
                  " more: reset() it, or make a larger one",
              where);
}

void KvCache::update(int64_t layer, const Tensor& key, const Tensor& value, Where where) {
  const Layer& l = at("KvCache.update", layer, where);
  if (active_tracer() != nullptr) {
    throw_error("KvCache.update",
                "a cache cannot be captured: disable it, or capture the model by capture_decoder()",
                where);
  }
  Shape want = l.keys.raw_shape();
  if (key.rank(where) == 4) want[2] = key.raw_shape()[2];
  if (!(key.raw_shape() == want) || !(value.raw_shape() == want) || key.dtype() != l.keys.dtype() ||
      value.dtype() != l.values.dtype()) {
    bad_shape("KvCache.update",
              std::string("takes ") + dtype_name(l.keys.dtype()) + " key and value " +
                  to_text(want).text + ", got " + dtype_name(key.dtype()) + " " + text(key) +
                  " and " + dtype_name(value.dtype()) + " " + text(value),
              where);
  }
  const int64_t count = want[2];
  check_room("KvCache.update", count, where);
  NoGrad guard;
  l.keys.slice(2, length_, length_ + count, 1, where).copy_(key, where);
  l.values.slice(2, length_, length_ + count, 1, where).copy_(value, where);
  layers_[static_cast<size_t>(layer)].added = count;
}

KeysValues KvCache::get(int64_t layer, Where where) const {
  const Layer& l = at("KvCache.get", layer, where);
  const int64_t end = length_ + l.added;
  return {l.keys.slice(2, 0, end, 1, where), l.values.slice(2, 0, end, 1, where)};
}

void KvCache::advance() {
  const int64_t count = layers_[0].added;
  for (const Layer& l : layers_) {
    if (l.added == count) continue;
    refuse("KvCache.advance", "layers were updated with " + std::to_string(count) + " and " +
                                  std::to_string(l.added) +
                                  " tokens: update each of them before advance()");
  }
  length_ += count;
  discard();
}

void KvCache::discard() {
  for (Layer& l : layers_) l.added = 0;
}

void KvCache::reset() {
  length_ = 0;
  discard();
}

size_t KvCache::get_memory_usage() const {
  size_t bytes = 0;
  for (const Layer& l : layers_) {
    for (const Tensor& t : {l.keys, l.values})
      bytes += static_cast<size_t>(t.numel()) * dtype_size(t.dtype());
  }
  return bytes;
}

Tensor KvCache::positions(const Arg& tokens) {
  const int64_t count = dim_of(tokens.tensor, 1);
  check_room("KvCache", count, tokens.where);
  return arange(length_, length_ + count, 1, DType::kI64, tokens.where)
      .to(tokens.tensor.device(), false, tokens.where);
}

Tensor KvCache::seen(const Tensor& positions, const Where& where) {
  const At at(where);
  const int64_t count = positions.raw_shape()[0];
  if (count == 1) return {};  // the last token sees all others
  const Tensor keys =
      arange(length_ + count, DType::kI64, where).to(positions.device(), false, where);
  return le(at(keys.unsqueeze(0, where)), at(positions.unsqueeze(1, where)));
}

// Under autocast a model of float32 has keys and values of 16 bits, which float32 holds exactly.
KeysValues KvCache::extend(int64_t layer, const Tensor& key, const Tensor& value,
                           const Where& where) {
  const DType given = key.dtype(), kept = at("KvCache", layer, where).keys.dtype();
  const bool narrow = kept == DType::kF32 && (given == DType::kF16 || given == DType::kBF16);
  if (!narrow || value.dtype() != given) {
    update(layer, key, value, where);
    return get(layer, where);
  }
  update(layer, key.to(kept, where), value.to(kept, where), where);
  const KeysValues all = get(layer, where);
  return {all.keys.to(given, where), all.values.to(given, where)};
}

}  // namespace wick::nn
