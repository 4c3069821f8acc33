// Refuses what no honest model has: names of megabytes, names that are not text, and functions
// whose calls multiply. Messages quote names, functions join them, programs hold them as C strings.
#include "exporter/onnx/read/limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "exporter/import_limits.h"
#include "exporter/onnx/file/wire.h"
#include "exporter/onnx/read/subgraph.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

constexpr size_t kMaxName = 4096, kMaxDimName = 1024;
// The limits of a model with its functions inlined: these, plus kTimes the file.
constexpr uint64_t kNodes = uint64_t{1} << 14, kBytes = uint64_t{1} << 25, kTimes = 32;

std::string shown(const std::string& name) {
  std::string start = name.substr(0, 40);
  std::erase(start, '\0');
  return start;
}

// `what` is the thing that the name is for, and `of` the one that has it ("node 'conv1'").
void check(const std::string& name, const char* what, const std::string& of,
           size_t longest = kMaxName) {
  if (name.size() <= longest && name.find('\0') == std::string::npos) return;
  const bool zero = name.size() <= longest;
  throw Error(
      fmt::format("ONNX model: the name of {}{} that begins with '{}' {}", what,
                  of.empty() ? "" : " of " + of, shown(name),
                  zero ? "has a zero byte"
                       : fmt::format("has {} bytes, at most {} are read", name.size(), longest)),
      Code::kInvalidProgram);
}

void check(const TypeProto& type, const std::string& of) {
  const TypeProto* at = &type;
  if (at->has_optional_type()) at = &at->optional_type().elem_type();
  if (at->has_sequence_type()) at = &at->sequence_type().elem_type();
  for (const auto& dim : at->tensor_type().shape().dim())
    check(dim.dim_param(), "a dimension", of, kMaxDimName);
}

void check(const ValueInfoProto& info, const char* what, const std::string& of) {
  check(info.name(), what, of);
  check(info.type(), fmt::format("'{}'", info.name()));
}

void check(const SparseTensorProto& t, const std::string& of) {
  check(t.values().name(), "a sparse tensor", of), check(t.indices().name(), "indices", of);
}

void check(const GraphProto& graph, const std::string& of);

void check(const AttributeProto& a, const std::string& of) {
  check(a.name(), "an attribute", of), check(a.ref_attr_name(), "a function's attribute", of);
  const std::string inside = fmt::format("attribute '{}' of {}", a.name(), of);
  check(a.t().name(), "a tensor", inside);
  check(a.sparse_tensor(), inside);
  check(a.tp(), inside);
  if (a.has_g()) check(a.g(), of);
  for (const GraphProto& g : a.graphs()) check(g, of);
}

void check(const google::protobuf::RepeatedPtrField<NodeProto>& nodes) {
  for (const NodeProto& n : nodes) {
    const std::string& name = n.name().empty() && n.output_size() > 0 ? n.output(0) : n.name();
    const std::string of = fmt::format("{} '{}'", shown(n.op_type()), shown(name));
    check(n.op_type(), "an operator", of), check(n.domain(), "a domain", of);
    check(n.name(), "a node", ""), check(n.overload(), "an overload", of);
    for (const std::string& s : n.input()) check(s, "an input", of);
    for (const std::string& s : n.output()) check(s, "an output", of);
    for (const AttributeProto& a : n.attribute()) check(a, of);
  }
}

// `of` is the node that owns the graph; "" for the model's own.
void check(const GraphProto& graph, const std::string& of) {
  check(graph.name(), "a graph", of);
  for (const auto& v : graph.input()) check(v, "an input", of);
  for (const auto& v : graph.output()) check(v, "an output", of);
  for (const auto& t : graph.initializer()) check(t.name(), "an initializer", of);
  for (const auto& t : graph.sparse_initializer()) check(t, of);
  check(graph.node());
}

// Cost is the size of nodes with the functions that they call inlined. Sums stay below 2^62.
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
        // Every node in it is named after the call.
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
    auto [at, fresh] = known_.try_emplace(&f);  // recursion is refused by its depth
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

// The memory of parsed messages: this, plus kMessageTimes the file. The shortest node or attribute
// that says something takes 10 to 24 times its bytes.
constexpr uint64_t kMessages = uint64_t{1} << 22, kMessageTimes = 32;

// Returns the size of a parsed message without what it holds, and of the pointer to it. Messages
// that are smaller than 20 times the two bytes of an empty one are not counted.
uint64_t parsed_bytes(Kind kind) {
  switch (kind) {
    case Kind::kGraph: return sizeof(GraphProto) + sizeof(void*);
    case Kind::kNode: return sizeof(NodeProto) + sizeof(void*);
    case Kind::kAttribute: return sizeof(AttributeProto) + sizeof(void*);
    case Kind::kFunction: return sizeof(FunctionProto) + sizeof(void*);
    case Kind::kTensor: return sizeof(TensorProto) + sizeof(void*);
    case Kind::kSparse: return sizeof(SparseTensorProto) + sizeof(void*);
    default: return 0;
  }
}

Kind kind_inside(Kind kind, uint32_t field) {
  if (kind == Kind::kSparse) return field == 1 || field == 2 ? Kind::kTensor : Kind::kOther;
  const bool sparse = (kind == Kind::kGraph && field == 15) ||
                      (kind == Kind::kAttribute && (field == 22 || field == 23));
  return sparse ? Kind::kSparse : inside(kind, field);
}

// Adds what the messages inside this one take. Returns false if it is damaged.
bool add_messages(ModelBytes& model, const Piece& message, Kind kind, int depth, uint64_t* bytes) {
  constexpr int kMostParsed = 100;  // protobuf's own limit
  if (depth > kMostParsed) return false;
  Wire wire(model, message);
  for (Field f; wire.next(&f);) {
    const Kind child = f.bytes ? kind_inside(kind, f.number) : Kind::kOther;
    if (child == Kind::kOther) continue;
    *bytes += parsed_bytes(child);
    if (child != Kind::kTensor &&
        !add_messages(model, {f.content, f.end - f.content}, child, depth + 1, bytes))
      return false;
  }
  return wire.sound();
}

}  // namespace

bool check_messages(ModelBytes& model, uint64_t file, const OnnxReadOptions& options) {
  uint64_t bytes = 0;
  if (!add_messages(model, {0, model.size()}, Kind::kModel, 0, &bytes)) return false;
  const uint64_t most = std::max(kMessages + kMessageTimes * file, options.max_ram);
  if (bytes <= most) return true;
  throw Error(fmt::format("ONNX model: its nodes, attributes and tensors are {} bytes of memory, "
                          "though the file has {}: most of them are empty; at most {} are read, "
                          "OnnxReadOptions::max_ram raises it",
                          bytes, file, most),
              Code::kBudgetExceeded);
}

LedgerLimits limits_of(uint64_t file, const OnnxReadOptions& options) {
  return import_limits(file, options.max_ram, options.max_visits);
}

void check_limits(const ModelProto& model) {
  check(model.graph(), "");
  for (const auto& v : model.graph().input()) {
    if (v.name().empty()) throw Error("ONNX model: an input has no name", Code::kInvalidProgram);
  }
  for (const auto& o : model.opset_import()) check(o.domain(), "a domain", "");
  for (const FunctionProto& f : model.functions()) {
    const std::string of = fmt::format("function '{}'", shown(f.name()));
    check(f.name(), "a function", ""), check(f.domain(), "a domain", of);
    check(f.overload(), "an overload", of);
    for (const std::string& s : f.input()) check(s, "an input", of);
    for (const std::string& s : f.output()) check(s, "an output", of);
    for (const std::string& s : f.attribute()) check(s, "an attribute", of);
    for (const AttributeProto& a : f.attribute_proto()) check(a, of);
    for (const auto& o : f.opset_import()) check(o.domain(), "a domain", of);
    check(f.node());
  }
  const Cost cost = Costs(model).of(model.graph().node());
  const uint64_t size = model.functions().empty() ? kMaxNodes : kNodes;
  uint64_t nodes = static_cast<uint64_t>(model.graph().node_size());
  for (const FunctionProto& f : model.functions()) nodes += static_cast<uint64_t>(f.node_size());
  const Cost most = {std::min(kMaxNodes, size + kTimes * nodes),
                     kBytes + kTimes * model.ByteSizeLong()};
  if (cost.nodes > most.nodes && model.functions().empty())
    throw Error(
        fmt::format("ONNX model: it has {} nodes, at most {} are read", cost.nodes, most.nodes),
        Code::kBudgetExceeded);
  if (model.functions().empty()) return;
  if (cost.nodes <= most.nodes && cost.bytes <= most.bytes) return;
  throw Error(fmt::format("ONNX model: its functions, written out at every call, come to {} nodes "
                          "and {} bytes; at most {} and {} are read",
                          cost.nodes, cost.bytes, most.nodes, most.bytes),
              Code::kBudgetExceeded);
}

}  // namespace wick::onnx
