// Identifies a call on the device by a number: it is equal for equal dispatches over equal tensors.
#pragma once

#include "runtime/backend/vulkan/graph/lower.h"

namespace wick::vulkan {

class Fingerprint {
 public:
  void add(const OpCall& call, const Lowered& lowered) {
    add(static_cast<uint64_t>(call.op));
    for (const TensorView& v : call.in) add(v);
    for (const TensorView& v : call.out) add(v);
    dispatches_ += lowered.dispatches.size();
    for (uint32_t word : lowered.table) add(word);
    for (const Dispatch& d : lowered.dispatches) {
      add(static_cast<uint64_t>(d.shader));
      used_[static_cast<size_t>(d.shader)] = true;
      for (uint32_t i = 0; i < d.spec_count; ++i) add(d.spec[i]);
      for (uint32_t i = 0; i < d.push_words; ++i) add(d.push[i]);
      for (uint32_t g : d.groups) add(g);
      for (uint32_t i = 0; i < d.operands; ++i) {
        add(static_cast<uint64_t>(d.operand[i]));
        if (d.window[i].bytes != 0) add(d.window[i].offset);
      }
    }
  }
  uint64_t value() const { return hash_; }
  size_t dispatches() const { return dispatches_; }
  bool uses(ShaderId shader) const { return used_[static_cast<size_t>(shader)]; }

 private:
  void add(const TensorView& v) {
    add(static_cast<uint64_t>(v.dtype));
    if (!v.present()) return;
    add(static_cast<uint64_t>(v.rank()));
    for (int d = 0; d < v.rank(); ++d) add(static_cast<uint64_t>(v.shape[d]));
  }
  void add(uint64_t word) {  // FNV-1a
    for (int i = 0; i < 8; ++i) hash_ = (hash_ ^ ((word >> (8 * i)) & 255)) * 0x100000001b3;
  }
  bool used_[kShaderCount] = {};
  size_t dispatches_ = 0;
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace wick::vulkan
