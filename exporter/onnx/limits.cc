// What no model of good faith has: names of megabytes, names that are not text, calls that double.
// Messages quote names, functions join them, programs hold them as C strings.
#include "exporter/onnx/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "exporter/onnx/subgraph.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

constexpr size_t kMaxName = 4096, kMaxDimName = 1024;
// What a model with its functions written out may come to: so much, and so many times its file.
constexpr uint64_t kNodes = uint64_t{1} << 18, kBytes = uint64_t{1} << 28, kTimes = 32;

void check(const std::string& name, const char* what, size_t longest = kMaxName) {
  if (name.size() <= longest && name.find('\0') == std::string::npos) return;
  const bool zero = name.size() <= longest;
  std::string shown = name.substr(0, 40);
  std::erase(shown, '\0');
  throw Error(
      fmt::format("ONNX model: the name of {} that begins with '{}' {}", what, shown,
                  zero ? "has a zero byte"
                       : fmt::format("has {} bytes, at most {} are read", name.size(), longest)),
      Code::kInvalidProgram);
}

void check(const ValueInfoProto& info, const char* what) {
  check(info.name(), what);
  for (const auto& dim : info.type().tensor_type().shape().dim())
    check(dim.dim_param(), "a dimension", kMaxDimName);
}

void check(const GraphProto& graph);

void check(const google::protobuf::RepeatedPtrField<NodeProto>& nodes) {
  for (const NodeProto& n : nodes) {
    check(n.op_type(), "an operator"), check(n.domain(), "a domain"), check(n.name(), "a node");
    for (const std::string& s : n.input()) check(s, "an input");
    for (const std::string& s : n.output()) check(s, "an output");
    for (const AttributeProto& a : n.attribute()) {
      check(a.name(), "an attribute");
      if (a.has_g()) check(a.g());
      for (const GraphProto& g : a.graphs()) check(g);
    }
  }
}

void check(const GraphProto& graph) {
  check(graph.name(), "a graph");
  for (const auto& v : graph.input()) check(v, "an input");
  for (const auto& v : graph.output()) check(v, "an output");
  for (const auto& t : graph.initializer()) check(t.name(), "an initializer");
  check(graph.node());
}

// What nodes come to with the functions that they call written out. Sums stay below 2^62.
struct Cost {
  uint64_t nodes = 0, bytes = 0;
  void add(const Cost& c) {
    constexpr uint64_t kMost = uint64_t{1} << 61;
    nodes = std::min(nodes + c.nodes, kMost), bytes = std::min(bytes + c.bytes, kMost);
  }
};

class Costs {
 public:
  explicit Costs(const ModelProto& model) : functions_(model) {}

  Cost of(const google::protobuf::RepeatedPtrField<NodeProto>& nodes) {
    Cost all;
    for (const NodeProto& n : nodes) {
      all.add({1, n.ByteSizeLong()});
      if (const FunctionProto* f = functions_.find(n); f != nullptr) {
        const Cost& inside = of(*f);
        all.add(inside);
        // every node in it is named after the call
        all.add({0, inside.nodes > kNodes * kTimes ? 0 : inside.nodes * n.name().size()});
      }
      for (const AttributeProto& a : n.attribute()) {
        if (a.has_g()) all.add(of(a.g().node()));
        for (const GraphProto& g : a.graphs()) all.add(of(g.node()));
      }
    }
    return all;
  }

 private:
  const Cost& of(const FunctionProto& f) {
    auto [at, fresh] = known_.try_emplace(&f);  // one that calls itself is refused by its depth
    if (!fresh || depth_ >= kMaxDepth) return at->second;
    ++depth_;
    const Cost cost = of(f.node());
    --depth_;
    return known_[&f] = cost;
  }
  Functions functions_;
  std::map<const FunctionProto*, Cost> known_;
  int depth_ = 0;
};

}  // namespace

void check_limits(const ModelProto& model) {
  check(model.graph());
  for (const auto& v : model.graph().input()) {
    if (v.name().empty()) throw Error("ONNX model: an input has no name", Code::kInvalidProgram);
  }
  for (const auto& o : model.opset_import()) check(o.domain(), "a domain");
  for (const FunctionProto& f : model.functions()) {
    check(f.name(), "a function"), check(f.domain(), "a domain");
    for (const std::string& s : f.input()) check(s, "an input");
    for (const std::string& s : f.output()) check(s, "an output");
    check(f.node());
  }
  if (model.functions().empty()) return;
  const Cost cost = Costs(model).of(model.graph().node());
  const Cost most = {kNodes + kTimes * static_cast<uint64_t>(model.graph().node_size()),
                     kBytes + kTimes * model.ByteSizeLong()};
  if (cost.nodes <= most.nodes && cost.bytes <= most.bytes) return;
  throw Error(fmt::format("ONNX model: its functions, written out at every call, come to {} nodes "
                          "and {} bytes; at most {} and {} are read",
                          cost.nodes, cost.bytes, most.nodes, most.bytes),
              Code::kBudgetExceeded);
}

}  // namespace wick::onnx
