#include "exporter/onnx/cut.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "exporter/onnx/file/lent.h"
#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/file/types.h"
#include "exporter/onnx/read/limits.h"
#include "runtime/core/atomic_file.h"
#include "wick/error.h"
#include "wick_onnx.pb.h"

namespace wick {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

// Collects what a node reads, its subgraphs' captures included. A name that a subgraph defines
// itself does not count.
void reads_of(const NodeProto& node, std::set<std::string> own, std::vector<std::string>* reads) {
  for (const std::string& name : node.input()) {
    if (!name.empty() && own.count(name) == 0) reads->push_back(name);
  }
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    const GraphProto& g = attribute.g();
    std::set<std::string> inside = own;
    for (const auto& v : g.input()) inside.insert(v.name());
    for (const auto& t : g.initializer()) inside.insert(t.name());
    for (const NodeProto& n : g.node()) inside.insert(n.output().begin(), n.output().end());
    for (const NodeProto& n : g.node()) reads_of(n, inside, reads);
    for (const auto& v : g.output()) {
      if (inside.count(v.name()) == 0) reads->push_back(v.name());
    }
  }
}

ModelProto read_model(const std::string& path, uint64_t* size = nullptr) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  ModelProto model;
  if (!file || !model.ParseFromString(bytes)) throw Error("cannot read '" + path + "'", Code::kIo);
  if (size != nullptr) *size = bytes.size();
  return model;
}

std::string random_op(const GraphProto& g) {
  for (const NodeProto& n : g.node()) {
    const bool trains = n.op_type() == "Dropout" && n.input_size() > 2 && !n.input(2).empty();
    const std::string& op = n.op_type();
    if (trains || op.rfind("Random", 0) == 0 || op == "Bernoulli" || op == "Multinomial") return op;
    for (const auto& a : n.attribute()) {
      if (std::string inside = a.has_g() ? random_op(a.g()) : ""; !inside.empty()) return inside;
    }
  }
  return "";
}

}  // namespace

std::string onnx_random_op(const std::string& path) {
  const ModelProto model = read_model(path);
  for (const auto& f : model.functions()) {
    GraphProto body;
    *body.mutable_node() = f.node();
    if (std::string inside = random_op(body); !inside.empty()) return inside;
  }
  return random_op(model.graph());
}

OnnxCut cut_onnx(const std::string& path, const std::string& out, const std::string& value,
                 size_t nodes, const std::map<std::string, HostTensor>& values) {
  uint64_t size = 0;
  ModelProto model = read_model(path, &size);
  // The cut has its constants inside: each copy of bytes of an external file counts.
  Ledger ledger(onnx::limits_of(size, {}));
  onnx::ModelBytes none(Span<const uint8_t>{});
  const std::vector<onnx::Piece> nothing;
  onnx::LentWeights reading(none, nothing, false);
  reading.ledger = &ledger;
  reading.share = false;
  const GraphProto whole = model.graph();
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::map<std::string, int> maker;
  for (int i = 0; i < whole.node_size(); ++i) {
    for (const std::string& name : whole.node(i).output()) {
      if (!name.empty()) maker.emplace(name, i);
    }
  }
  if (maker.count(value) == 0) throw Error("no node of '" + path + "' makes '" + value + "'");
  std::set<int> taken;
  std::vector<std::string> open = {value};
  for (size_t k = 0; k < open.size() && taken.size() < nodes; ++k) {
    const auto made = maker.find(open[k]);
    if (made == maker.end() || !taken.insert(made->second).second) continue;
    reads_of(whole.node(made->second), {}, &open);
  }
  GraphProto* g = model.mutable_graph();
  g->clear_node();
  g->clear_input();
  g->clear_output();
  g->clear_initializer();
  g->clear_sparse_initializer();
  g->clear_value_info();
  std::set<std::string> have;
  std::vector<std::string> reads;
  for (int i : taken) {
    *g->add_node() = whole.node(i);
    have.insert(whole.node(i).output().begin(), whole.node(i).output().end());
    reads_of(whole.node(i), {}, &reads);
  }
  OnnxCut cut{taken.size(), {}};
  for (const std::string& name : reads) {
    if (!have.insert(name).second) continue;
    const auto constant = std::find_if(whole.initializer().begin(), whole.initializer().end(),
                                       [&](const auto& t) { return t.name() == name; });
    if (constant != whole.initializer().end()) {
      *g->add_initializer() = onnx::encode(onnx::decode(*constant, folder), name);
      continue;
    }
    const auto sparse =
        std::find_if(whole.sparse_initializer().begin(), whole.sparse_initializer().end(),
                     [&](const auto& t) { return t.values().name() == name; });
    if (sparse != whole.sparse_initializer().end()) {
      *g->add_sparse_initializer() = *sparse;
      continue;
    }
    const auto known = values.find(name);
    if (known == values.end()) throw Error("the value '" + name + "' is not known");
    auto* input = g->add_input();
    input->set_name(name);
    ir::Value type;
    type.dtype = known->second.dtype();
    type.ranked = true;
    for (int64_t d : known->second.shape()) type.shape.push_back(SymDim(d));
    onnx::set_type(*input->mutable_type(), type);
    cut.inputs.push_back(name);
  }
  g->add_output()->set_name(value);
  std::string bytes;
  if (!model.SerializeToString(&bytes)) throw Error("cannot write '" + out + "'");
  check_status(write_file_atomically(out.c_str(), bytes.data(), bytes.size()));
  return cut;
}

}  // namespace wick
