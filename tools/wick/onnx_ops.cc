#include "tools/wick/onnx_ops.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "exporter/onnx/onnx.h"
#include "exporter/onnx/operators.h"
#include "graph/rewrite/pass.h"
#include "runtime/backend/vulkan/backend.h"
#include "runtime/kernels/kernel.h"
#include "trainer/autograd/grad_table.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

std::string short_name(DType t) {
  std::string name;
  switch (t) {
#define X(Name, value, bits, text) \
  case DType::k##Name: name = #Name; break;
    WICK_DTYPES(X)
#undef X
    default: break;  // no type, or not a tensor's
  }
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// Share counts for how many nodes something holds.
struct Share {
  int yes = 0, no = 0;
  void add(bool holds) { ++(holds ? yes : no); }
  bool all() const { return yes > 0 && no == 0; }
};

// Query is a node of the graph as kernels are asked for it; a size that only running tells counts
// as 1.
class Query {
 public:
  Query(const ir::Graph& g, const ir::Node& n) {
    for (ir::ValueId v : n.inputs) in_.push_back(v == ir::kNoValue ? TensorView() : view(g, v));
    for (ir::ValueId v : n.outputs) out_.push_back(view(g, v));
    query_.op = n.op;
    query_.attrs = n.attrs.get();
    query_.in = {in_.data(), in_.size()};
    query_.out = {out_.data(), out_.size()};
  }
  const KernelQuery& get() const { return query_; }

 private:
  static TensorView view(const ir::Graph& g, ir::ValueId id) {
    const ir::Value& v = g.value(id);
    if (v.origin == ir::ValueOrigin::kConstant) return v.constant.view();
    Shape shape;
    for (const SymDim& d : v.shape) shape.push_back(d.known() ? d.constant() : 1);
    return {nullptr, v.dtype, shape};
  }
  std::vector<TensorView> in_, out_;
  KernelQuery query_;
};

struct Kernels {
  Share reference, simd, vulkan;
  void look(const ir::Graph& g) {
    const KernelSet* const plain[] = {&kReferenceKernels};
    const KernelSet* const fast[] = {&kCpuKernels};
    for (const ir::Node& n : g.nodes()) {
      if (n.removed()) continue;
      for (const ir::Graph& region : n.regions) look(region);
      if (!n.regions.empty()) continue;  // its regions are what runs
      const Query q(g, n);
      reference.add(find_kernel(plain, q.get()) != nullptr);
      const bool moves_nothing = n.op == OpId::kIdentity || n.op == OpId::kReshape ||
                                 n.op == OpId::kFlatten || n.op == OpId::kSqueeze ||
                                 n.op == OpId::kUnsqueeze;
      simd.add(moves_nothing || find_kernel(fast, q.get()) != nullptr);
      vulkan.add(VulkanBackend::has_shaders(q.get()));
    }
  }
};

// Returns whether a gradient flows from the inputs to an output.
bool differentiable(const ir::Graph& g) {
  std::set<ir::ValueId> moved(g.inputs().begin(), g.inputs().end());
  for (ir::ValueId v : g.inputs()) {
    if (!is_float(g.value(v).dtype)) moved.erase(v);
  }
  for (const ir::Node& n : g.nodes()) {
    bool reads = false;
    for (ir::ValueId v : n.inputs) reads = reads || moved.count(v) != 0;
    if (!reads) continue;
    const GradRow& row = grad_row(n.op);
    for (ir::ValueId v : n.outputs) {
      if (!is_float(g.value(v).dtype)) continue;
      if (row.formula == nullptr) return false;
      moved.insert(v);
    }
  }
  return std::any_of(g.outputs().begin(), g.outputs().end(),
                     [&](const ir::GraphOutput& o) { return moved.count(o.value) != 0; });
}

nlohmann::json range_of(const OnnxOperator& op, int opset) {
  nlohmann::json found = {{"gradient", false}};
  for (const char* list : {"reference", "simd", "simd_in_part", "vulkan", "vulkan_in_part"})
    found[list] = nlohmann::json::array();
  found["written"] = nlohmann::json::object();
  for (int t = 1; t < kDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    ir::Graph g, fast;
    try {
      const std::vector<uint8_t> bytes = onnx_sample(op.name, opset, dtype);
      if (bytes.empty()) return found;
      g = import_onnx_bytes({bytes.data(), bytes.size()});
      fast = g;
      ir::optimize(fast);
    } catch (const Error&) {
      continue;
    }
    Kernels kernels;
    kernels.look(fast);
    if (kernels.reference.no > 0) continue;
    const std::string name = short_name(dtype);
    found["reference"].push_back(name);
    if (kernels.simd.yes > 0) found[kernels.simd.all() ? "simd" : "simd_in_part"].push_back(name);
    if (kernels.vulkan.yes > 0)
      found[kernels.vulkan.all() ? "vulkan" : "vulkan_in_part"].push_back(name);
    try {
      found["written"][name] = onnx_written_opset(g);
    } catch (const Error&) {
    }
    if (dtype == DType::kF32) found["gradient"] = differentiable(g);
  }
  return found;
}

nlohmann::json describe(const OnnxOperator& op) {
  nlohmann::json doc = {{"name", op.name}, {"changes", op.changes}};
  if (op.until != kNewestOpset) doc["until"] = op.until;
  if (!op.why_out.empty()) {
    doc["out"] = op.why_out;
    return doc;
  }
  auto ranges = nlohmann::json::array();
  for (size_t i = 0; i < op.changes.size(); ++i) {
    const int until = i + 1 < op.changes.size() ? op.changes[i + 1] - 1 : op.until;
    nlohmann::json range = range_of(op, op.changes[i]);
    range["until"] = until;
    if (!ranges.empty()) {
      nlohmann::json last = ranges.back();
      last["until"] = until;
      last.erase("from");
      if (last == range) {
        ranges.back()["until"] = until;
        continue;
      }
    }
    range["from"] = op.changes[i];
    ranges.push_back(std::move(range));
  }
  doc["ranges"] = std::move(ranges);
  return doc;
}

// Returns "floats i32 i64" for a list of dtypes: a whole class is one word.
std::string dtype_words(const nlohmann::json& list) {
  static const std::vector<std::pair<const char*, std::vector<const char*>>> kClasses = {
      {"floats", {"f32", "f64", "f16", "bf16"}},
      {"ints", {"i8", "i16", "i32", "i64"}},
      {"uints", {"u8", "u16", "u32", "u64"}},
      {"f8", {"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0"}},
      {"4bit", {"i4", "u4", "f4e2m1"}},
      {"2bit", {"i2", "u2"}}};
  std::set<std::string> left;
  for (const auto& name : list) left.insert(name.get<std::string>());
  std::string text;
  auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  for (const auto& [word, names] : kClasses) {
    const bool whole =
        std::all_of(names.begin(), names.end(), [&](const char* n) { return left.count(n) != 0; });
    for (const char* n : names) {
      if (!whole && left.count(n) != 0) add(n);
      left.erase(n);
    }
    if (whole) add(word);
  }
  for (const std::string& n : left) add(n);
  return text;
}

std::string backend_words(const nlohmann::json& range, const std::string& backend) {
  std::string text = dtype_words(range[backend]), part = dtype_words(range[backend + "_in_part"]);
  if (!part.empty()) text += fmt::format("{}({})", text.empty() ? "" : " ", part);
  return text;
}

std::string written_words(const nlohmann::json& range) {
  int least = 99, most = 0;
  auto missing = nlohmann::json::array();
  for (const auto& name : range["reference"]) {
    auto found = range["written"].find(name.get<std::string>());
    if (found == range["written"].end()) {
      missing.push_back(name);
      continue;
    }
    least = std::min(least, found->get<int>());
    most = std::max(most, found->get<int>());
  }
  std::string text = most == 0       ? ""
                     : least == most ? fmt::format("{}", least)
                                     : fmt::format("{}-{}", least, most);
  if (!missing.empty() && most > 0) text += ", not " + dtype_words(missing);
  return text;
}

}  // namespace

constexpr const char* kOtherDomains[] = {"com.microsoft", "ai.onnx.ml", "ai.onnx.preview"};

nlohmann::json onnx_matrix(const std::string& name) {
  auto lower = [](std::string s) {
    for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return s;
  };
  auto operators = nlohmann::json::array(), others = nlohmann::json::array();
  nlohmann::json matrix = {{"newest_opset", kNewestOpset}};
  for (const OnnxOperator& op : onnx_operators()) {
    if (name.empty() || lower(op.name) == lower(name)) operators.push_back(describe(op));
  }
  for (const char* domain : kOtherDomains) {
    auto found = nlohmann::json::array();
    for (const OnnxOperator& op : onnx_operators_of(domain)) {
      const std::string own = lower(op.name.substr(op.name.find("::") + 2)), full = lower(op.name);
      if (name.empty() || full == lower(name) || (operators.empty() && own == lower(name)))
        found.push_back(describe(op));
    }
    if (!name.empty()) others.insert(others.end(), found.begin(), found.end());
    matrix[domain] = name.empty() ? std::move(found) : nlohmann::json::array();
  }
  if (!name.empty() && operators.empty()) operators = std::move(others);
  if (operators.empty()) {
    throw Error(
        fmt::format("neither ONNX's default domain nor another that is read has an operator "
                    "{}; `wick "
                    "ops --onnx` lists them",
                    name),
        Code::kNotFound);
  }
  matrix["operators"] = std::move(operators);
  return matrix;
}

std::string onnx_operator_text(const nlohmann::json& op) {
  std::string text = op["name"].get<std::string>() + "  changed at opset";
  for (const auto& opset : op["changes"]) text += fmt::format(" {}", opset.get<int>());
  if (op.contains("until")) text += fmt::format(", until {}", op["until"].get<int>());
  if (op.contains("out")) return text + "\n  not read: " + op["out"].get<std::string>() + "\n";
  for (const auto& range : op["ranges"]) {
    const std::pair<const char*, std::string> lines[] = {
        {"dtypes", dtype_words(range["reference"])},
        {"SIMD", backend_words(range, "simd")},
        {"Vulkan", backend_words(range, "vulkan")},
        {"written", written_words(range)},
        {"gradient", range["gradient"].get<bool>() ? "yes" : "no"}};
    text += fmt::format("\n  opset {}-{}\n", range["from"].get<int>(), range["until"].get<int>());
    for (const auto& [what, words] : lines)
      text += fmt::format("    {:<9} {}\n", what, words.empty() ? "-" : words);
  }
  return text;
}

std::string onnx_matrix_page(const nlohmann::json& matrix) {
  std::string rows, out;
  const auto others = [&](const char* domain) {
    std::string text;
    for (const auto& op : matrix[domain]) {
      const nlohmann::json& range = op["ranges"].back();  // the newest version's
      const std::string name = op["name"].get<std::string>();
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", name.substr(name.find("::") + 2),
                          dtype_words(range["reference"]), backend_words(range, "simd"),
                          backend_words(range, "vulkan"), written_words(range),
                          range["gradient"].get<bool>() ? "yes" : "");
    }
    return text;
  };
  int read = 0, count = 0;
  for (const auto& op : matrix["operators"]) {
    count += op.contains("until") ? 0 : 1;
    if (op.contains("out")) {
      out +=
          fmt::format("| {} | {} |\n", op["name"].get<std::string>(), op["out"].get<std::string>());
      continue;
    }
    read += op.contains("until") ? 0 : 1;
    for (const auto& range : op["ranges"]) {
      const int from = range["from"].get<int>(), until = range["until"].get<int>();
      rows +=
          fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", op["name"].get<std::string>(),
                      from == until ? fmt::format("{}", from) : fmt::format("{}-{}", from, until),
                      dtype_words(range["reference"]), backend_words(range, "simd"),
                      backend_words(range, "vulkan"), written_words(range),
                      range["gradient"].get<bool>() ? "yes" : "");
    }
  }
  return fmt::format(
      R"(# ONNX operators

What runs of ONNX's default domain, opset 1 to {}: {} of {} operators are read. Made by
`wick ops --onnx --markdown` and held by a test; nothing here is written by hand: for every operator, opset form and
dtype a model of one node is read, and the tables of kernels, shaders, gradients and writers are asked about its nodes.
`wick ops --onnx --json` has the same for programs, `wick ops --onnx Resize` one operator.

- **opset**: the versions of the operator with one outcome.
- **dtypes**: of the operator's main input, that the reader takes and the reference kernels run; the interpreter and a CPU
  session run the same.
- **SIMD**, **Vulkan**: the dtypes for which every node that the operator becomes has a SIMD kernel, a shader; in
  brackets: some nodes have (the others run on plain loops, on the CPU).
- **written**: the opset at which the writer gives it back (the lowest from 17 on that can say it), over the dtypes.
- **gradient**: the trainer's ops that it becomes are all differentiable.

floats: f32 f64 f16 bf16; ints, uints: 8 to 64 bits; f8: all five 8-bit floats; 4bit: i4 u4 f4e2m1; 2bit: i2 u2.

| operator | opset | dtypes | SIMD | Vulkan | written | gradient |
|---|---|---|---|---|---|---|
{}
## com.microsoft

ONNX Runtime's own operators that are read, version 1 of their domain: formulas over our ops, written back as operators
of the default domain. Any other of this domain is an error that names the node, unless a custom op is registered under
its name.

| operator | dtypes | SIMD | Vulkan | written | gradient |
|---|---|---|---|---|---|
{}
## ai.onnx.ml

Classical models, version 1 to 5 of the domain: trees and dictionaries are ops of the runtime, which are written back as
TreeEnsembleRegressor (TreeEnsemble for float64) and LabelEncoder; the others are formulas over our ops, written back as operators of the
default domain. The row is that of the newest version; older ones are read, too. Maps are no tensors: CastMap and DictVectorizer are not
read, and ZipMap gives its scores ([exporter.md](exporter.md#classical-models)).

| operator | dtypes | SIMD | Vulkan | written | gradient |
|---|---|---|---|---|---|
{}
## ai.onnx.preview

What ONNX tries out, of version 1 of the domain; the domain's operators of training are not read.

| operator | dtypes | SIMD | Vulkan | written | gradient |
|---|---|---|---|---|---|
{}
## Out

| operator | why, and what to do |
|---|---|
{})",
      matrix["newest_opset"].get<int>(), read, count, rows, others("com.microsoft"),
      others("ai.onnx.ml"), others("ai.onnx.preview"), out);
}

}  // namespace wick::tool
