// NodeAttrs is the attribute struct of a node, in as many bytes as it needs: most ops have no
// attributes or few, and a graph may have a million nodes.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/ops/op_info.h"

namespace wick::ir {

// The attribute struct of a node's op, copied with the node.
class NodeAttrs {
 public:
  NodeAttrs() = default;
  // Takes the first `size` bytes, those of the op's struct.
  NodeAttrs(const AnyAttrs& attrs, size_t size) { assign(attrs.get(), size); }
  // Holds a copy of `a`, which is the op's struct.
  template <class A>
  static NodeAttrs of(const A& a) {
    static_assert(sizeof(A) <= kMaxAttrBytes && alignof(A) <= alignof(uint64_t));
    NodeAttrs attrs;
    attrs.assign(&a, std::is_empty_v<A> ? 0 : sizeof(A));
    return attrs;
  }
  // Returns the address of the struct.
  const void* get() const { return words_.empty() ? kZeros : words_.data(); }
  // Return it as an A, which must be the op's struct or the first member of it. What the node does
  // not have is 0, as where the op was changed in place.
  template <class A>
  const A& as() const {
    return *static_cast<const A*>(bytes() < sizeof(A) ? static_cast<const void*>(kZeros) : get());
  }
  template <class A>
  A& as() {
    fill(sizeof(A));
    return *reinterpret_cast<A*>(words_.data());
  }
  // Appends zeros until there are `size` bytes.
  void fill(size_t size) {
    if (bytes() < size) words_.resize((size + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  }
  // Returns a copy that has room for the struct of any op.
  operator AnyAttrs() const {  // NOLINT: whatever takes AnyAttrs takes a node's
    AnyAttrs any;
    if (!words_.empty()) memcpy(any.get(), words_.data(), bytes());
    return any;
  }

 private:
  size_t bytes() const { return words_.size() * sizeof(uint64_t); }
  void assign(const void* from, size_t size) {
    fill(size);
    if (size != 0) memcpy(words_.data(), from, size);
  }

  static constexpr uint64_t kZeros[kMaxAttrBytes / sizeof(uint64_t)] = {};
  std::vector<uint64_t> words_;
};

}  // namespace wick::ir
