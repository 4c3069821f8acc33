// NodeAttrs is the attribute struct of a node, in as many bytes as it needs: most ops have no
// attributes or few, and a graph may have a million nodes.
#pragma once

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
    static_assert(sizeof(A) <= kMaxAttrBytes && alignof(A) <= alignof(AnyAttrs));
    NodeAttrs attrs;
    attrs.assign(&a, std::is_empty_v<A> ? 0 : sizeof(A));
    return attrs;
  }
  // Returns the address of the struct.
  const void* get() const { return bytes_.empty() ? kZeros : bytes_.data(); }
  // Return it as an A, which must be the op's struct or the first member of it. What the node does
  // not have is 0, as where the op was changed in place.
  template <class A>
  const A& as() const {
    return *static_cast<const A*>(bytes_.size() < sizeof(A) ? kZeros : get());
  }
  template <class A>
  A& as() {
    fill(sizeof(A));
    return *reinterpret_cast<A*>(bytes_.data());
  }
  // Appends zeros until there are `size` bytes.
  void fill(size_t size) {
    if (bytes_.size() < size) bytes_.resize(size);
  }
  // Returns a copy that has room for the struct of any op.
  operator AnyAttrs() const {  // NOLINT: whatever takes AnyAttrs takes a node's
    AnyAttrs any;
    if (!bytes_.empty()) memcpy(any.get(), bytes_.data(), bytes_.size());
    return any;
  }

 private:
  void assign(const void* from, size_t size) {
    fill(size);
    if (size != 0) memcpy(bytes_.data(), from, size);
  }

  alignas(AnyAttrs) static constexpr char kZeros[kMaxAttrBytes] = {};
  std::vector<char> bytes_;  // memory of `new` is aligned for any struct of these
};

}  // namespace wick::ir
