#include <fmt/core.h>
#include <google/protobuf/arena.h>

#include <filesystem>
#include <memory>
#include <set>

#include "exporter/onnx/families/quantize.h"
#include "exporter/onnx/file/about.h"
#include "exporter/onnx/file/lent.h"
#include "exporter/onnx/file/names.h"
#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/file/types.h"
#include "exporter/onnx/onnx.h"
#include "exporter/onnx/operators.h"
#include "exporter/onnx/operators/table.h"
#include "exporter/onnx/read/gather.h"
#include "exporter/onnx/read/limits.h"
#include "exporter/onnx/read/read.h"
#include "exporter/onnx/read/signature.h"
#include "exporter/onnx/read/subgraph.h"
#include "graph/ir/infer.h"
#include "graph/rewrite/pass.h"
#include "runtime/core/printable.h"
#include "wick/error.h"

namespace wick {
namespace onnx {
namespace {

[[noreturn]] void invalid(const std::string& why) {
  throw Error("ONNX model: " + why, Code::kInvalidProgram);
}

int64_t opset_of(const ModelProto& model) {
  if (model.opset_import_size() == 0) {
    // The opsets are at a file's end: without them the file was cut, and opset 1 would be a guess.
    if (model.ir_version() >= 3)
      invalid("it imports no opset (opset_import), which IR 3 and newer must; is the file cut?");
    return 1;
  }
  int64_t opset = 0;  // of other domains only: a node of this one is refused
  for (const auto& entry : model.opset_import()) {
    if (!default_domain(entry.domain())) continue;
    const int64_t version = checked_opset(entry.version(), "it");
    if (opset != 0 && opset != version)
      invalid(fmt::format("it imports opset {} and opset {} of one domain", opset, version));
    opset = version;
  }
  return opset;
}

// Returns the newest version of ai.onnx.ml that the model or a function of it imports; 0: none.
int64_t ml_opset_of(const ModelProto& model) {
  int64_t opset = 0;
  const auto look = [&](const auto& imports) {
    for (const auto& entry : imports) {
      if (entry.domain() == kMl) opset = std::max<int64_t>(opset, entry.version());
    }
  };
  look(model.opset_import());
  for (const FunctionProto& f : model.functions()) look(f.opset_import());
  return opset;
}

constexpr int kMostListed = 50;

// Returns "its opset 29 is newer than 28, the newest that is known", or "" if nothing is newer.
// Functions have opsets of their own.
std::string newer_than_known(const ModelProto& model, int64_t opset) {
  for (const FunctionProto& f : model.functions()) {
    for (const auto& entry : f.opset_import()) {
      if (default_domain(entry.domain())) opset = std::max<int64_t>(opset, entry.version());
    }
  }
  std::string text;
  const auto look = [&](const char* what, int64_t version, int64_t newest) {
    if (version > newest)
      text += fmt::format("{}its {} {} is newer than {}, the newest that is known",
                          text.empty() ? "" : ", and ", what, version, newest);
  };
  look("IR version", model.ir_version(), kNewestIr);
  look("opset", opset, kNewestOpset);
  look("version of ai.onnx.ml", ml_opset_of(model), kNewestMl);
  return text;
}

// Returns whether ONNX Runtime's optimiser alone writes operators of this domain: in layouts of the
// machine that it runs on.
bool made_for_a_machine(const std::string& domain) {
  return domain == "com.microsoft.nchwc" || domain.starts_with("com.ms.internal.");
}

// Collects every node that cannot be read, those of subgraphs and functions included, so that a
// user sees the whole list at once: operators without a reader, and nodes with inputs or attributes
// that their operator does not have.
struct Faults {
  const Functions& functions;
  int64_t ml_opset = 0;
  std::set<const FunctionProto*> seen = {};
  std::string list = "", first = "";
  int count = 0, operators = 0;

  template <class Nodes>
  void walk(const Nodes& nodes, int64_t opset, bool in_function, int depth) {
    if (depth > kMaxDepth)
      invalid(fmt::format("subgraphs and functions nest deeper than {}", kMaxDepth));
    for (const NodeProto& node : nodes) {
      look(node, opset, in_function, depth);
      for (const auto& a : node.attribute()) {
        if (a.has_g()) walk(a.g().node(), opset, in_function, depth + 1);
        for (const auto& g : a.graphs()) walk(g.node(), opset, in_function, depth + 1);
      }
    }
  }

 private:
  void look(const NodeProto& node, int64_t opset, bool in_function, int depth) {
    if (const FunctionProto* f = functions.find(node); f != nullptr) {
      if (seen.insert(f).second) walk(f->node(), opset_of(*f, opset), true, depth + 1);
      return;
    }
    if (find_custom_op(node.domain(), node.op_type()) != nullptr) return;
    std::string why;
    const bool ours = !operator_versions(node.domain()).empty();
    if (node.op_type().empty()) {
      why = "it names no operator";
    } else if (made_for_a_machine(node.domain())) {
      why =
          "ONNX Runtime wrote this for the machine that optimised the model: take the file that it "
          "optimised";
    } else if (!ours) {
      why = "no custom op of this domain and name is registered (load_ops, or --ops LIBRARY.so)";
    } else if (find_read_version(node.op_type(), node.domain()) == nullptr) {
      why = why_unread(node.op_type(), default_domain(node.domain()) ? "" : node.domain());
    }
    operators += why.empty() ? 0 : 1;
    if (why.empty() && default_domain(node.domain()) && opset == 0)
      why = "the model imports no opset of the default domain";
    const bool ml = node.domain() == kMl;
    if (why.empty() && ml && ml_opset == 0) why = "the model imports no opset of ai.onnx.ml";
    if (why.empty()) why = signature_fault(node, ml ? ml_opset : opset, in_function);
    if (why.empty()) return;
    std::string domain = node.domain().empty() ? "" : node.domain() + "::";
    const std::string line =
        fmt::format("{}{} '{}': {}", domain, node.op_type(), node_name(node), why);
    if (count == 0) first = line;
    if (++count <= kMostListed) list += "\n  " + line;
  }
  // An opset that is out of range is an error where the function is called.
  static int64_t opset_of(const FunctionProto& f, int64_t opset) {
    for (const auto& entry : f.opset_import()) {
      if (default_domain(entry.domain())) opset = entry.version();
    }
    return opset;
  }
};

void check_nodes(const ModelProto& model, const Functions& functions, int64_t opset,
                 const std::string& newer) {
  Faults f{functions, ml_opset_of(model)};
  f.walk(model.graph().node(), opset, false, 0);
  if (f.count == 0) return;
  const std::string hint =
      newer.empty() ? "" : "\nThe model may mean something new: " + newer + ".";
  if (f.count == 1 && f.operators == 0) throw Error(f.first + hint, Code::kUnsupported);
  if (f.count > kMostListed) f.list += fmt::format("\n  and {} more", f.count - kMostListed);
  throw Error(
      fmt::format("{} node(s) of the ONNX model cannot be read:{}{}{}", f.count, f.list, hint,
                  f.operators == 0 ? ""
                                   : "\nReplace them before exporting, or cut the model "
                                     "where they begin; `wick ops` lists what there is."),
      Code::kUnsupported);
}

// Runs before any input is added: a size without a name must not take one that comes later.
void declare_symbols(Graph& g, const ValueInfoProto& info) {
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    if (is_named(dim)) g.symbol(dim.dim_param(), 0);
  }
}

void add_input(Graph& g, const ValueInfoProto& info, std::map<std::string, ValueId>& values) {
  Value type = type_of(info.type(), g, "input '" + info.name() + "'");
  if (type.dtype == DType::kNone) invalid(fmt::format("input '{}' has no type", info.name()));
  ValueId id = g.add_input(info.name(), type);
  if (!values.emplace(info.name(), id).second)
    invalid(fmt::format("'{}' is defined twice", info.name()));
}

// Checks what the file declares of an output against what its nodes give; either may leave things
// open. A declared shape is not trusted: files keep that of another batch size after an edit.
void check_output(const ValueInfoProto& info, const Value& value, const ModelCtx& model) {
  if (model.maps.count(info.name()) != 0) return;  // declared a sequence of maps
  if (!info.type().has_tensor_type() || is_container(value.dtype)) {
    Graph scratch;
    const Value declared = type_of(info.type(), scratch, "output '" + info.name() + "'");
    if (declared.dtype != DType::kNone &&
        (declared.dtype != value.dtype || declared.element != value.element))
      invalid(fmt::format("output '{}' is declared {}, its node gives {}", info.name(),
                          type_text(declared), type_text(value)));
    return;
  }
  const auto& type = info.type().tensor_type();
  if (type.elem_type() != 0 && value.dtype != DType::kNone) {
    DType declared = dtype_of_onnx(type.elem_type(), "output '" + info.name() + "'");
    if (declared != value.dtype) {
      invalid(fmt::format("output '{}' is declared {}, its node gives {}", info.name(),
                          dtype_name(declared), dtype_name(value.dtype)));
    }
  }
}

Graph read(const ModelProto& model, const std::string& folder, Ledger* ledger,
           std::vector<std::string>* warnings) {
  if (!model.has_graph()) invalid("it has no graph (is this an ONNX file?)");
  const GraphProto& proto = model.graph();
  check_limits(model);
  int64_t opset = opset_of(model);
  const Functions functions(model);
  const std::string newer = newer_than_known(model, opset);
  check_nodes(model, functions, opset, newer);
  const auto warn = [&](const std::string& text) {
    if (warnings != nullptr) warnings->push_back(text);
    if (warnings == nullptr) fmt::print(stderr, "warning: {}\n", printable(text));
  };
  if (!newer.empty())
    warn("ONNX model: " + newer + "; its operators are all known, and are read as they are there");

  Graph g;
  const auto count = [](int n) { return static_cast<size_t>(n); };
  g.reserve(count(proto.node_size()),
            count(proto.node_size()) + count(proto.initializer_size() + proto.input_size()));
  if (!proto.name().empty()) g.name = proto.name();
  read_about(model, g);
  ModelCtx ctx{functions, folder, *ledger, opset, ml_opset_of(model)};
  Scope scope(g, ctx);
  std::map<std::string, ValueId>& values = scope.values;
  read_initializers(scope, proto);
  // Before IR 4 initializers are listed among the inputs too, as defaults, which we take as
  // constants.
  std::set<std::string> inputs;
  for (const auto& info : proto.input()) {
    if (values.find(info.name()) == values.end()) declare_symbols(g, info);
  }
  for (const auto& info : proto.input()) {
    if (!inputs.insert(info.name()).second)
      invalid(fmt::format("input '{}' is declared twice", info.name()));
    if (values.find(info.name()) == values.end()) add_input(g, info, values);
  }
  std::vector<const NodeProto*> nodes;
  for (const auto& node : proto.node()) nodes.push_back(&node);
  read_nodes(scope, nodes, opset);
  if (proto.output_size() == 0) invalid("it has no outputs");
  std::set<std::string> outputs;
  for (const auto& info : proto.output()) {
    if (info.name().empty()) invalid("an output has no name");
    auto found = values.find(info.name());
    if (found == values.end()) invalid(fmt::format("output '{}' is not defined", info.name()));
    if (!outputs.insert(info.name()).second)
      invalid(fmt::format("output '{}' is listed twice", info.name()));
    check_output(info, g.value(found->second), ctx);
    ValueId value = found->second;
    // An operator that does nothing here returned its input: the output is a value of its own.
    if (const std::string& own = g.value(value).name; own != info.name() && !own.empty())
      value = g.emit(OpId::kIdentity, {value});
    if (g.value(value).name.empty() && !is_made_up(info.name())) g.value(value).name = info.name();
    g.add_output(info.name(), value);
  }
  for (const std::string& note : ctx.notes) warn("ONNX model: " + note);
  take_half_scales(g);
  drop_unread_containers(g);
  trim_regions(g);  // what became an attribute is not read any more
  g.compact();
  return g;
}

// Guesses from its first bytes what a file is that protobuf cannot read.
std::string looks_like(ModelBytes& bytes) {
  std::string head;
  bytes.append(0, std::min<uint64_t>(bytes.size(), 64), &head);
  const auto begins = [&](const std::string& with) {
    return head.compare(0, with.size(), with) == 0;
  };
  if (begins("version https://git-lfs"))
    return "it is a Git LFS pointer: `git lfs pull` fetches the model";
  if (begins("PK\x03\x04")) return "it is a zip archive, as PyTorch's .pt files are: export it";
  if (begins("<!DOCTYPE") || begins("<html")) return "it is a web page: was the download refused?";
  if (begins("\x89HDF")) return "it is an HDF5 file, as Keras writes: convert it to ONNX";
  if (begins("\x93NUMPY")) return "it is an .npy array";
  return "protobuf cannot read it";
}

// Gives the further uses of a size's name among the inputs names of their own.
void name_sizes_apart(GraphProto* graph) {
  std::set<std::string> taken, used;
  for (const auto& info : graph->input()) {
    for (const auto& dim : info.type().tensor_type().shape().dim()) taken.insert(dim.dim_param());
  }
  for (auto& info : *graph->mutable_input()) {
    if (!info.type().has_tensor_type()) continue;
    for (auto& dim : *info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (!is_named(dim) || used.insert(dim.dim_param()).second) continue;
      int number = 2;
      while (!taken.insert(fmt::format("{}_{}", dim.dim_param(), number)).second) ++number;
      dim.set_dim_param(fmt::format("{}_{}", dim.dim_param(), number));
    }
  }
}

}  // namespace
}  // namespace onnx

namespace {

ir::Graph import_model(onnx::ModelBytes& bytes, const std::string& folder,
                       const OnnxReadOptions& options) {
  if (bytes.size() > static_cast<uint64_t>(INT32_MAX))
    onnx::invalid("over 2 GB in one file; use external data");
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto& model = *google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  std::vector<onnx::Piece> lent;
  std::string rest = onnx::without_weights(bytes, &lent);
  onnx::LentWeights lending(bytes, lent, options.weights_stay);
  const bool whole = lent.empty() && bytes.file() == nullptr;
  if (lent.empty() && !whole) bytes.append(0, bytes.size(), &rest);
  const auto in_rest = [&] {
    return Span<const uint8_t>(reinterpret_cast<const uint8_t*>(rest.data()), rest.size());
  };
  const Span<const uint8_t> text = whole ? bytes.in_memory() : in_rest();
  onnx::ModelBytes parsed(text);
  if (!onnx::check_messages(parsed, bytes.size(), options) ||
      !model.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    onnx::invalid("the file is damaged, or is not an ONNX model (" + onnx::looks_like(bytes) + ")");
  }
  rest = {};
  if (options.own_sizes) onnx::name_sizes_apart(model.mutable_graph());
  Ledger ledger(onnx::limits_of(bytes.size(), options));
  lending.ledger = &ledger;
  struct Tell {
    ~Tell() {
      if (to != nullptr) *to = from.spent();
    }
    const Ledger& from;
    LedgerLimits* to;
  } tell{ledger, options.spent};
  try {
    if (model.has_graph()) onnx::gather_parts(model.mutable_graph());
    ir::Graph graph = onnx::read(model, folder, &ledger, options.warnings);
    arena.reset();  // a large model takes as much memory as its graph
    onnx::settle_names(graph);
    if (options.lower_qdq) ir::lower_qdq(graph, options.lowered);
    return graph;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error("ONNX model: out of memory", Code::kOutOfMemory);
  } catch (const std::exception& e) {
    throw Error(std::string("ONNX model: ") + e.what(), Code::kInternal);
  }
}

}  // namespace

ir::Graph import_onnx_bytes(Span<const uint8_t> bytes, const std::string& folder,
                            const OnnxReadOptions& options) {
  onnx::ModelBytes model(bytes);
  OnnxReadOptions of_memory = options;
  of_memory.weights_stay = false;
  return import_model(model, folder, of_memory);
}

ir::Graph import_onnx(const std::string& path, const OnnxReadOptions& options) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  const auto file = std::make_shared<const FileBytes>(path);  // its errors name it
  try {
    onnx::ModelBytes model(file);
    return import_model(model, folder.empty() ? "." : folder, options);
  } catch (const Error& e) {
    throw Error(path + ": " + e.what(), e.code());
  }
}

}  // namespace wick
