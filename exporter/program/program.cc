#include "exporter/program/program.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "exporter/onnx/file.h"
#include "runtime/program/layout.h"
#include "runtime/program/program_generated.h"
#include "runtime/program/sha256.h"
#include "runtime/include/wick/error.h"

namespace wick {
namespace {

using flatbuffers::Offset;

class ProgramWriter {
 public:
  ProgramWriter(const ir::Graph& graph, const ProgramOptions& options) : g_(graph), options_(options) {}

  std::vector<uint8_t> write() {
    refuse_training_ops();
    number_values();
    auto entry = write_entry();
    auto segment_digest = write_weights();
    std::vector<Offset<fbs::Segment>> segments;
    if (!weights_.empty()) {
      segments.push_back(fbs::CreateSegment(b_, 0, weights_.size(), b_.CreateVector(segment_digest.data(), 32)));
    }
    std::vector<Offset<flatbuffers::String>> labels;
    for (const std::string& l : g_.labels) labels.push_back(b_.CreateString(l));
    std::vector<Offset<fbs::KeyValue>> metadata;
    for (const auto& [k, v] : g_.metadata) {
      metadata.push_back(fbs::CreateKeyValue(b_, b_.CreateString(k), b_.CreateString(v)));
    }
    auto provenance = fbs::CreateProvenance(b_, b_.CreateString(WICK_VERSION),
                                            b_.CreateVector(segment_digest.data(), 32), options_.seed,
                                            static_cast<fbs::Numerics>(options_.numerics),
                                            b_.CreateString(options_.source));
    auto symbols = b_.CreateVector(symbols_);
    auto segment_list = b_.CreateVector(segments);
    auto constants = b_.CreateVector(constants_);
    auto entries = b_.CreateVector(&entry, 1);
    auto label_list = b_.CreateVector(labels);
    auto metadata_list = b_.CreateVector(metadata);
    fbs::ProgramBuilder p(b_);
    p.add_symbols(symbols);
    p.add_segments(segment_list);
    p.add_constants(constants);
    p.add_entries(entries);
    p.add_labels(label_list);
    p.add_metadata(metadata_list);
    p.add_provenance(provenance);
    fbs::FinishProgramBuffer(b_, p.Finish());
    return assemble();
  }

 private:
  void refuse_training_ops() {
    std::string list;
    for (size_t i = 0; i < g_.node_count(); ++i) {
      const ir::Node& n = g_.nodes()[i];
      if (n.removed()) continue;
      if (find_op(n.op)->role == OpRole::kInfer) continue;
      list += "\n  " + ir::node_text(g_, static_cast<ir::NodeId>(i));
    }
    if (!list.empty()) {
      throw Error("a program cannot hold training ops; export the model in eval mode:" + list, Code::kUnsupported);
    }
  }

  // Only what the body touches gets an id, in the order of definition.
  void number_values() {
    ids_.assign(g_.value_count(), kNoIndex);
    auto touch = [&](ir::ValueId v) {
      if (v == ir::kNoValue || ids_[static_cast<size_t>(v)] != kNoIndex) return;
      ids_[static_cast<size_t>(v)] = static_cast<uint32_t>(order_.size());
      order_.push_back(v);
    };
    for (ir::ValueId v : g_.inputs()) touch(v);
    for (const ir::Node& n : g_.nodes()) {
      if (n.removed()) continue;
      for (ir::ValueId v : n.inputs) touch(v);
      for (ir::ValueId v : n.outputs) touch(v);
    }
    for (const ir::GraphOutput& o : g_.outputs()) touch(o.value);
  }

  // A size that is an expression becomes a symbol named by its text: the runtime computes sizes by its own rules,
  // and a reader of the file sees "2*batch".
  uint32_t symbol_of(const SymDim& d) {
    std::string text = d.text();
    auto at = symbol_ids_.find(text);
    if (at != symbol_ids_.end()) return at->second;
    int64_t lo = std::max<int64_t>(0, d.min());
    symbols_.push_back(fbs::CreateSymbol(b_, b_.CreateString(text), lo, std::max(lo, d.max())));
    return symbol_ids_[text] = static_cast<uint32_t>(symbols_.size());
  }

  Offset<fbs::Value> write_value(ir::ValueId id, const std::string& name) {
    const ir::Value& v = g_.value(id);
    bool known = v.ranked && !v.declared;
    std::vector<fbs::Dim> dims;
    if (known) {
      for (const SymDim& d : v.shape) {
        dims.emplace_back(d.known() ? d.constant() : 0, d.known() ? 0 : symbol_of(d), 0);
      }
    }
    uint32_t constant = kNoIndex;
    if (v.origin == ir::ValueOrigin::kConstant) constant = write_constant(v);
    auto name_at = b_.CreateString(name);
    auto dims_at = b_.CreateVectorOfStructs(dims);
    return fbs::CreateValue(b_, name_at, fbs::ValueKind::Tensor, static_cast<uint8_t>(v.dtype), !known, dims_at,
                            constant);
  }

  uint32_t write_constant(const ir::Value& v) {
    size_t offset = align_up(weights_.size(), kSegmentAlignment);
    size_t bytes = v.constant.nbytes();
    weights_.resize(offset + bytes, 0);
    if (bytes != 0) memcpy(weights_.data() + offset, v.constant.data(), bytes);
    std::vector<int64_t> dims(v.constant.shape().begin(), v.constant.shape().end());
    auto raw = fbs::CreateBuffer(b_, 0, offset, bytes, 0);
    auto name = b_.CreateString(v.name);
    auto dims_at = b_.CreateVector(dims);
    constants_.push_back(fbs::CreateConstant(b_, name, static_cast<uint8_t>(v.dtype), dims_at, raw));
    return static_cast<uint32_t>(constants_.size()) - 1;
  }

  Offset<fbs::Node> write_node(const ir::Node& n) {
    const AttrType& type = *find_op(n.op)->attrs;
    std::vector<Offset<fbs::Attr>> attrs;
    for (const AttrField& f : type.fields) {
      if (attr_is_default(type, f, n.attrs.get())) continue;
      Offset<flatbuffers::Vector<int64_t>> ints;
      if (f.kind == AttrKind::kInts) {
        auto list = attr_ints(f, n.attrs.get());
        ints = b_.CreateVector(list.data(), list.size());
      }
      auto* bytes = const_cast<void*>(n.attrs.get());
      fbs::AttrBuilder a(b_);
      a.add_field(f.id);
      a.add_kind(static_cast<fbs::AttrKind>(f.kind));
      if (f.kind == AttrKind::kInt) a.add_i(attr_int(f, bytes));
      if (f.kind == AttrKind::kFloat) a.add_f(attr_float(f, bytes));
      if (f.kind == AttrKind::kInts) a.add_ints(ints);
      attrs.push_back(a.Finish());
    }
    std::vector<uint32_t> in, out;
    for (ir::ValueId v : n.inputs) in.push_back(v == ir::kNoValue ? kNoIndex : ids_[static_cast<size_t>(v)]);
    for (ir::ValueId v : n.outputs) out.push_back(ids_[static_cast<size_t>(v)]);
    auto in_at = b_.CreateVector(in), out_at = b_.CreateVector(out);
    auto attrs_at = b_.CreateVector(attrs);
    auto name = b_.CreateString(n.name);
    return fbs::CreateNode(b_, static_cast<uint16_t>(n.op), 1, in_at, out_at, attrs_at, name);
  }

  Offset<fbs::Entry> write_entry() {
    // An output's name is the program's promise, whatever the graph calls the value. A value that is an input, a
    // constant or already another output keeps its own and is copied by an Identity node.
    std::map<ir::ValueId, std::string> names;
    std::vector<uint32_t> outputs;
    std::vector<std::pair<ir::ValueId, std::string>> copies;
    for (const ir::GraphOutput& o : g_.outputs()) {
      const ir::Value& v = g_.value(o.value);
      if (v.origin == ir::ValueOrigin::kNode && names.emplace(o.value, o.name).second) {
        outputs.push_back(ids_[static_cast<size_t>(o.value)]);
      } else {
        outputs.push_back(static_cast<uint32_t>(order_.size() + copies.size()));
        copies.emplace_back(o.value, o.name);
      }
    }
    std::vector<Offset<fbs::Value>> values;
    for (ir::ValueId v : order_) {
      auto at = names.find(v);
      values.push_back(write_value(v, at == names.end() ? g_.value(v).name : at->second));
    }
    std::vector<Offset<fbs::Node>> nodes;
    for (const ir::Node& n : g_.nodes()) {
      if (!n.removed()) nodes.push_back(write_node(n));
    }
    for (const auto& [from, name] : copies) {
      ir::Value copy = g_.value(from);
      std::vector<fbs::Dim> dims;
      bool known = copy.ranked && !copy.declared;
      if (known) {
        for (const SymDim& d : copy.shape) {
          dims.emplace_back(d.known() ? d.constant() : 0, d.known() ? 0 : symbol_of(d), 0);
        }
      }
      auto id = static_cast<uint32_t>(values.size());
      auto name_at = b_.CreateString(name);
      auto dims_at = b_.CreateVectorOfStructs(dims);
      values.push_back(fbs::CreateValue(b_, name_at, fbs::ValueKind::Tensor, static_cast<uint8_t>(copy.dtype), !known,
                                        dims_at));
      std::vector<uint32_t> in{ids_[static_cast<size_t>(from)]}, out{id};
      auto in_at = b_.CreateVector(in), out_at = b_.CreateVector(out);
      nodes.push_back(fbs::CreateNode(b_, static_cast<uint16_t>(OpId::kIdentity), 1, in_at, out_at));
    }
    std::vector<uint32_t> inputs;
    for (ir::ValueId v : g_.inputs()) inputs.push_back(ids_[static_cast<size_t>(v)]);
    auto inputs_at = b_.CreateVector(inputs), outputs_at = b_.CreateVector(outputs);
    auto nodes_at = b_.CreateVector(nodes);
    auto region = fbs::CreateRegion(b_, inputs_at, outputs_at, nodes_at);
    auto name = b_.CreateString("main");
    auto values_at = b_.CreateVector(values);
    auto regions_at = b_.CreateVector(&region, 1);
    return fbs::CreateEntry(b_, name, values_at, regions_at);
  }

  std::vector<uint8_t> write_weights() {
    std::vector<uint8_t> digest(32);
    Sha256 sha;
    sha.update(weights_);
    sha.finish(digest.data());
    return digest;
  }

  std::vector<uint8_t> assemble() {
    FileHeader h = {};
    memcpy(h.magic, kFileMagic, sizeof(h.magic));
    h.version = kFileVersion;
    h.header_bytes = sizeof(FileHeader);
    h.table_offset = sizeof(FileHeader);
    h.table_bytes = b_.GetSize();
    h.segments_offset = align_up(h.table_offset + h.table_bytes, kSegmentAlignment);
    h.segments_bytes = weights_.size();
    h.file_bytes = h.segments_offset + h.segments_bytes;
    std::vector<uint8_t> file(h.file_bytes, 0);
    memcpy(file.data(), &h, sizeof(h));
    memcpy(file.data() + h.table_offset, b_.GetBufferPointer(), b_.GetSize());
    if (!weights_.empty()) memcpy(file.data() + h.segments_offset, weights_.data(), weights_.size());
    return file;
  }

  const ir::Graph& g_;
  const ProgramOptions& options_;
  flatbuffers::FlatBufferBuilder b_;
  std::vector<uint32_t> ids_;
  std::vector<ir::ValueId> order_;
  std::vector<uint8_t> weights_;
  std::vector<Offset<fbs::Constant>> constants_;
  std::vector<Offset<fbs::Symbol>> symbols_;
  std::map<std::string, uint32_t> symbol_ids_;
};

}  // namespace

std::vector<uint8_t> build_program(const ir::Graph& graph, const ProgramOptions& options) {
  ir::verify(graph, "before writing a program");
  return ProgramWriter(graph, options).write();
}

void export_wick(const ir::Graph& graph, const std::string& path, const ProgramOptions& options) {
  write_file_atomically(path, build_program(graph, options));
}

}  // namespace wick
