#include "tools/lib/verify/onnxruntime.h"

#include <filesystem>
#include <set>

#include "exporter/onnx/cut.h"
#include "exporter/onnx/onnx.h"
#include "runtime/ops/op_info.h"
#include "tools/lib/difference.h"
#include "tools/lib/oracle.h"
#include "tools/lib/scratch_folder.h"
#include "tools/lib/verify/repro.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

constexpr size_t kReproNodes = 3;

struct Beside {
  ir::Graph graph;
  std::vector<std::string> input_names;
  ir::GivenValues values;  // ONNX Runtime's
};

bool is_compared(DType t) {
  return is_float(t) ? t != DType::kBF16 : is_int(t) || t == DType::kBool;
}

// `model` becomes a file that has all names; our own files omit made-up ones.
Beside values_of(const std::string& path, Span<const HostTensor> inputs) {
  Beside b{import_onnx(path), {}, {}};
  const ScratchFolder scratch;
  std::string model = path;
  if (b.graph.metadata.count("wick.version") != 0) {
    model = scratch.file("named.onnx");
    ir::name_values(b.graph, "value.");
    export_onnx(b.graph, model);
  }
  for (ir::ValueId v : b.graph.inputs()) b.input_names.push_back(b.graph.value(v).name);
  std::vector<std::string> names;
  std::set<std::string> seen(b.input_names.begin(), b.input_names.end());
  const auto want = [&](const std::string& name, const ir::Value& v) {
    if (!name.empty() && is_compared(v.dtype) && seen.insert(name).second) names.push_back(name);
  };
  for (const ir::GraphOutput& o : b.graph.outputs()) want(o.name, b.graph.value(o.value));
  const size_t outputs = names.size();
  for (const ir::Node& n : b.graph.nodes()) {
    if (n.removed()) continue;
    for (ir::ValueId v : n.outputs) want(b.graph.value(v).name, b.graph.value(v));
  }
  OnnxRuntimeValues theirs;
  try {
    theirs = onnxruntime_values(model, b.input_names, inputs, names, false);
  } catch (const Error&) {  // it cannot return every value of every model
    names.resize(outputs);
    theirs = onnxruntime_values(model, b.input_names, inputs, names, false);
  }
  for (size_t i = 0; i < names.size(); ++i) b.values.emplace(names[i], theirs.values[i]);
  for (const ir::GraphOutput& o : b.graph.outputs()) {
    ir::Value& v = b.graph.value(o.value);
    if (v.origin == ir::ValueOrigin::kNode) v.name = o.name;
  }
  return b;
}

}  // namespace

void compare_with_onnxruntime(const std::string& path, Span<const HostTensor> inputs,
                              double tolerance, VerifyRow* row) {
  const Beside b = values_of(path, inputs);
  ir::run_beside(
      b.graph, inputs, b.values, ir::Promise::kReassociates, [&](const ir::Beside& node) {
        // ONNX leaves open what a reduction of nothing is. ONNX Runtime's have even other shapes,
        // and so has what is made of them.
        if (node.node >= 0 && kind_of(b.graph.node(node.node).op) == OpKind::kReduce &&
            node.inputs[0].numel() == 0)
          return true;
        if (node.made.numel() == 0 && node.given.numel() == 0) return true;
        ++row->values;
        ir::Apart d = ir::apart(node.given, node.made, ir::Promise::kBits, 0);
        if (!d.differs) return true;
        double bound = 0;
        if (d.comparable) {
          const Difference far = difference(node.made, node.given);
          const int bits = dtype_bits(node.made.dtype());
          bound = is_float(node.made.dtype()) ? tolerance * (far.largest > 0 ? far.largest : 1)
                  : bits <= 8 && node.made.dtype() != DType::kBool ? 1
                                                                   : 0;
          // 16-bit floats round differently in it.
          if (node.made.dtype() == DType::kF16) bound = std::max(bound, 2 * 0x1p-11 * far.largest);
          d = ir::apart(node.given, node.made, ir::Promise::kReassociates, bound);
          if (!d.differs) return true;
        }
        set_first(row, b.graph, node.value, node.given, node.made, d, bound);
        row->first->value = node.name;
        return false;
      });
}

void repro_of_onnxruntime(const std::string& path, Span<const HostTensor> inputs, double tolerance,
                          const std::string& folder, VerifyRow* row) {
  Beside all = values_of(path, inputs);
  ir::GivenValues values = all.values;
  for (size_t i = 0; i < inputs.size(); ++i) values.emplace(all.input_names[i], inputs[i]);
  row->repro = repro_folder(folder, *row);
  const std::string model = (std::filesystem::path(row->repro) / "model.onnx").string();
  for (size_t nodes = 1; nodes <= kReproNodes; ++nodes) {
    try {
      const OnnxCut cut = cut_onnx(path, model, row->first->value, nodes, values);
      std::vector<HostTensor> in;
      for (const std::string& name : cut.inputs) in.push_back(values.at(name));
      VerifyRow again;
      compare_with_onnxruntime(model, in, tolerance, &again);
      if (!again.first) continue;
      finish_repro(row->repro, *row, "model.onnx", cut.inputs, in, cut.nodes,
                   " --against onnxruntime");
      return;
    } catch (const Error&) {  // this part is no valid model alone
    }
  }
  std::filesystem::remove(model);
  write_repro(folder, *row, {}, "");
}

}  // namespace wick::tool
