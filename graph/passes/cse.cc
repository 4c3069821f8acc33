// Common subexpression elimination: equal nodes on equal inputs become one.
#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "graph/rewrite/pass.h"
#include "graph/rewrite/substitution.h"
#include "runtime/registry/registry.h"

namespace wick::ir {
namespace {

constexpr uint64_t kMaxCompared = 1 << 10;  // larger constants are not compared
constexpr size_t kMaxCandidates = 16;       // nodes with regions that one is compared with

void put(std::string& key, const void* data, size_t bytes) {
  key.append(static_cast<const char*>(data), bytes);
}
template <class T>
void put(std::string& key, const T& v) {
  put(key, &v, sizeof(v));
}

void put_attrs(std::string& key, const AttrType& type, const void* attrs) {
  for (const AttrField& f : type.fields) {
    const char* at = static_cast<const char*>(attrs) + f.offset;
    if (!is_list(f.kind)) {
      put(key, at, sizeof(int64_t));
      continue;
    }
    const Span<const int64_t> list = attr_ints(f, attrs);
    put(key, list.size());
    put(key, list.data(), list.size() * sizeof(int64_t));
  }
}

// Returns, for each value, the first constant that is equal to it, or the value itself.
std::vector<ValueId> first_equal(const Graph& g) {
  std::vector<ValueId> first(g.value_count());
  std::unordered_map<std::string, ValueId> seen;
  for (size_t i = 0; i < first.size(); ++i) {
    const auto id = first[i] = static_cast<ValueId>(i);
    if (!g.is_constant(id)) continue;
    const HostTensor& t = g.value(id).constant;
    std::string key;
    put(key, t.dtype());
    put(key, t.shape().rank());  // else a dim would read as bytes
    for (int64_t d : t.shape()) put(key, d);
    const bool whole = t.held_bytes() <= kMaxCompared;
    put(key, whole);
    if (whole && t.dtype() == DType::kString) {
      for (int64_t k = 0; k < t.numel(); ++k) {
        const StringRef& s = t.as<StringRef>()[k];
        put(key, s.size);
        if (s.size != 0) put(key, s.data, s.size);
      }
    } else if (whole) {
      put(key, t.data(), t.nbytes());
    } else {
      put(key, t.address());  // copies of a tensor share its bytes
    }
    first[i] = seen.emplace(std::move(key), id).first->second;
  }
  return first;
}

bool same_regions(const Node& a, const Node& b);

// Returns whether two regions are equal node by node, ids of values included, as copies of one
// graph are.
bool same_region(const Graph& a, const Graph& b) {
  if (a.node_count() != b.node_count() || a.value_count() != b.value_count() ||
      a.inputs() != b.inputs() || a.outputs().size() != b.outputs().size()) {
    return false;
  }
  for (size_t k = 0; k < a.outputs().size(); ++k) {
    if (a.outputs()[k].value != b.outputs()[k].value) return false;
  }
  for (size_t i = 0; i < a.value_count(); ++i) {
    const Value &x = a.value(static_cast<ValueId>(i)), &y = b.value(static_cast<ValueId>(i));
    if (x.origin != y.origin || x.dtype != y.dtype) return false;
    if (x.origin != ValueOrigin::kConstant || x.constant.address() == y.constant.address())
      continue;
    if (x.constant.held_bytes() > kMaxCompared || !same_bits(x.constant, y.constant)) return false;
  }
  for (size_t i = 0; i < a.node_count(); ++i) {
    const Node &x = a.node(static_cast<NodeId>(i)), &y = b.node(static_cast<NodeId>(i));
    if (x.op != y.op || x.inputs != y.inputs || x.outputs != y.outputs) return false;
    if (x.removed()) continue;
    if (!attrs_equal(*op_info(x.op)->attrs, x.attrs.get(), y.attrs.get()) || !same_regions(x, y))
      return false;
  }
  return true;
}

bool same_regions(const Node& a, const Node& b) {
  if (a.regions.size() != b.regions.size()) return false;
  for (size_t i = 0; i < a.regions.size(); ++i) {
    if (!same_region(a.regions[i], b.regions[i])) return false;
  }
  return true;
}

}  // namespace

bool share_common(Graph& g) {
  Substitution sub(g);
  const std::vector<ValueId> first = first_equal(g);
  std::unordered_map<std::string, std::vector<NodeId>> seen;
  for (size_t i = 0; i < g.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    Node& n = g.node(id);
    if (n.removed()) continue;
    sub.apply(n);
    // Each reader of a quantized value keeps its own pair.
    if (n.op == OpId::kQuantizeLinear || n.op == OpId::kDequantizeLinear) continue;
    std::vector<ValueId> in;
    for (ValueId v : n.inputs) in.push_back(v == kNoValue ? v : first[static_cast<size_t>(v)]);
    if (has_flag(n.op, kCommutes)) std::sort(in.begin(), in.end());
    std::string key;
    put(key, n.op);
    put(key, n.outputs.size());
    put(key, in.size());
    put(key, in.data(), in.size() * sizeof(ValueId));
    put_attrs(key, *op_info(n.op)->attrs, n.attrs.get());
    std::vector<NodeId>& same = seen[std::move(key)];
    const auto found = std::find_if(same.begin(), same.end(),
                                    [&](NodeId other) { return same_regions(g.node(other), n); });
    if (found == same.end()) {
      if (same.size() < kMaxCandidates) same.push_back(id);
      continue;
    }
    for (size_t k = 0; k < n.outputs.size(); ++k)
      sub.replace(n.outputs[k], g.node(*found).outputs[k]);
    g.remove_node(id);
  }
  return sub.finish();
}

}  // namespace wick::ir
