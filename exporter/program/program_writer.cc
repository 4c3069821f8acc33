#include "exporter/program/program_writer.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include "runtime/core/atomic_file.h"
#include "runtime/core/sha256.h"
#include "runtime/program/program_generated.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <class T>
using Offsets = std::vector<Offset<T>>;

void list_training(const ir::Graph& g, std::string* list) {
  for (const ir::Node& node : g.nodes()) {
    if (node.removed()) continue;
    const OpInfo* op = op_info(node.op);
    if (op->role == OpRole::kTrain)
      *list += fmt::format("\n  {} '{}' ({})", op->name, node.name, node.source.text());
    for (const ir::Graph& region : node.regions) list_training(region, list);
  }
}

constexpr int kMaxRegionDepth = 8;  // what the loader takes

void check_depth(const ir::Graph& g, int depth) {
  for (const ir::Node& node : g.nodes()) {
    if (node.regions.empty()) continue;
    if (depth >= kMaxRegionDepth) {
      throw Error(fmt::format("{} '{}': it stands {} regions deep, a program holds {}",
                              op_info(node.op)->name, node.name, depth + 1, kMaxRegionDepth),
                  Code::kUnsupported);
    }
    for (const ir::Graph& region : node.regions) check_depth(region, depth + 1);
  }
}

void check_writable(const ir::Graph& g) {
  constexpr size_t kMaxPorts = 4096;  // what the loader takes
  if (g.inputs().size() > kMaxPorts || g.outputs().size() > kMaxPorts) {
    throw Error(fmt::format("a program has at most {} inputs and outputs, the graph {} and {}",
                            kMaxPorts, g.inputs().size(), g.outputs().size()),
                Code::kUnsupported);
  }
  std::string list;
  list_training(g, &list);
  check_depth(g, 0);
  if (!list.empty()) {
    throw Error(
        "these nodes belong to training and cannot be in a program (was the module in eval "
        "mode?):" +
            list,
        Code::kUnsupported);
  }
}

std::array<uint8_t, 32> sha256(Span<const uint8_t> bytes) {
  std::array<uint8_t, 32> digest;
  Sha256 hash;
  hash.update(bytes);
  hash.finish(digest.data());
  return digest;
}

class Writer {
 public:
  Writer(const ir::Graph& graph, const ProgramInfo& info) : g_(graph), info_(info) {}

  std::vector<uint8_t> write() {
    check_writable(g_);
    Offsets<fbs::Symbol> symbols;
    add_symbols(g_, &symbols);
    auto entry = make_entry();
    segment_.resize(align_up(segment_.size(), kSegmentAlignment));
    auto digest = sha256(segment_);
    Offsets<fbs::Segment> segments;
    if (!constants_.empty()) {  // also when each of them is empty: they name their segment
      segments.push_back(fbs::CreateSegment(b_, 0, segment_.size(),
                                            b_.CreateVector(digest.data(), digest.size())));
    }
    std::vector<Offset<flatbuffers::String>> labels;
    for (const auto& label : g_.labels) labels.push_back(b_.CreateString(label));
    Offsets<fbs::KeyValue> metadata;
    for (const auto& [key, value] : g_.metadata) {
      metadata.push_back(fbs::CreateKeyValue(b_, b_.CreateString(key), b_.CreateString(value)));
    }
    auto provenance = fbs::CreateProvenance(
        b_, b_.CreateString(WICK_VERSION), b_.CreateVector(digest.data(), digest.size()),
        info_.seed, static_cast<fbs::Numerics>(info_.numerics), b_.CreateString(info_.source));
    auto symbol_list = b_.CreateVector(symbols);
    auto segment_list = b_.CreateVector(segments);
    auto constant_list = b_.CreateVector(constants_);
    auto entry_list = b_.CreateVector(&entry, 1);
    auto label_list = b_.CreateVector(labels);
    auto metadata_list = b_.CreateVector(metadata);
    auto custom_list = b_.CreateVector(custom_ops_);
    fbs::ProgramBuilder program(b_);
    program.add_symbols(symbol_list);
    program.add_segments(segment_list);
    program.add_constants(constant_list);
    program.add_entries(entry_list);
    if (!custom_ops_.empty()) program.add_custom_ops(custom_list);
    program.add_labels(label_list);
    program.add_metadata(metadata_list);
    program.add_provenance(provenance);
    fbs::FinishProgramBuffer(b_, program.Finish());
    return assemble();
  }

 private:
  // A region's own symbols by their names: of no entry input, so nothing ever binds them.
  void add_symbols(const ir::Graph& g, Offsets<fbs::Symbol>* list) {
    for (const auto& s : g.symbols()) {
      if (!symbols_.emplace(s.name, static_cast<uint32_t>(symbols_.size() + 1)).second) continue;
      list->push_back(fbs::CreateSymbol(b_, b_.CreateString(s.name), s.min, s.max));
    }
    for (const ir::Node& node : g.nodes()) {
      for (const ir::Graph& region : node.regions) add_symbols(region, list);
    }
  }

  // Constants lie in one segment, each at a multiple of 64. Those that share their bytes (an outer
  // one that a region reads) are one.
  uint32_t add_constant(const ir::Value& v) {
    std::vector<int64_t> dims(v.constant.shape().begin(), v.constant.shape().end());
    auto key = std::make_tuple(v.constant.data(), v.dtype, dims, v.name);
    if (auto known = constant_of_.find(key); known != constant_of_.end() && v.constant.nbytes() > 0)
      return known->second;
    segment_.resize(align_up(segment_.size(), kSegmentAlignment));
    uint64_t at = segment_.size();
    auto* bytes = static_cast<const uint8_t*>(v.constant.data());
    segment_.insert(segment_.end(), bytes, bytes + v.constant.nbytes());
    auto id = static_cast<uint32_t>(constants_.size());
    constant_of_[key] = id;
    constants_.push_back(fbs::CreateConstant(b_, b_.CreateString(v.name),
                                             static_cast<uint8_t>(v.dtype), b_.CreateVector(dims),
                                             fbs::CreateBuffer(b_, 0, at, v.constant.nbytes())));
    return id;
  }

  // A dim that is an expression has no place in the file; the session computes it again. The value
  // is unranked then.
  Offset<fbs::Value> make_value(const ir::Value& v) {
    bool is_constant = v.origin == ir::ValueOrigin::kConstant;
    uint32_t constant = is_constant ? add_constant(v) : kNoIndex;
    std::vector<fbs::Dim> dims;
    bool ranked = v.ranked;
    for (int k = 0; ranked && k < v.shape.rank(); ++k) {
      const SymDim& d = v.shape[k];
      auto symbol = d.known() ? symbols_.end() : symbols_.find(d.text());
      if (d.known()) {
        dims.emplace_back(d.constant(), 0, 0);
      } else if (symbol != symbols_.end()) {
        dims.emplace_back(0, symbol->second, 0);
      } else {
        ranked = false;
      }
    }
    if (!ranked) dims.clear();
    auto name = b_.CreateString(v.name);
    auto list = b_.CreateVectorOfStructs(dims);
    return fbs::CreateValue(b_, name, fbs::ValueKind::Tensor, static_cast<uint8_t>(v.dtype),
                            !ranked, list, constant);
  }

  Offset<fbs::Node> make_node(const ir::Node& node, uint32_t base) {
    const OpInfo& op = *op_info(node.op);
    Offsets<fbs::Attr> attrs;
    for (size_t k = 0; k < node.regions.size(); ++k) {
      uint32_t index = make_region(node.regions[k]);
      attrs.push_back(fbs::CreateAttr(b_, static_cast<uint16_t>(kRegionField + k),
                                      fbs::AttrKind::Region, index));
    }
    for (const AttrField& f : op.attrs->fields) {
      if (attr_is_default(*op.attrs, f, node.attrs.get())) continue;
      Offset<flatbuffers::Vector<int64_t>> ints;
      int64_t i = 0;
      double d = 0;
      AnyAttrs attrs_copy = node.attrs;
      if (f.kind == AttrKind::kInts) {
        auto list = attr_ints(f, node.attrs.get());
        ints = b_.CreateVector(list.data(), list.size());
      } else if (f.kind == AttrKind::kInt) {
        i = attr_int(f, attrs_copy.get());
      } else {
        d = attr_float(f, attrs_copy.get());
      }
      attrs.push_back(fbs::CreateAttr(b_, f.id, static_cast<fbs::AttrKind>(f.kind), i, d, ints));
    }
    std::vector<uint32_t> in, out;
    for (ir::ValueId id : node.inputs)
      in.push_back(id == ir::kNoValue ? kNoIndex : base + static_cast<uint32_t>(id));
    for (ir::ValueId id : node.outputs) out.push_back(base + static_cast<uint32_t>(id));
    auto in_list = b_.CreateVector(in), out_list = b_.CreateVector(out);
    auto attr_list = b_.CreateVector(attrs);
    auto name = b_.CreateString(node.name);
    return fbs::CreateNode(b_, file_id(node.op), 1, in_list, out_list, attr_list, name);
  }

  // A custom op's id is its place in the file's own list.
  uint16_t file_id(OpId op) {
    if (!is_custom(op)) return static_cast<uint16_t>(op);
    auto [at, fresh] = custom_id_.emplace(op, kFirstCustomOp + custom_id_.size());
    if (fresh) {
      const CustomOp& custom = *find_custom_op(op);
      custom_ops_.push_back(fbs::CreateCustomOp(b_, b_.CreateString(custom.domain),
                                                b_.CreateString(custom.name), custom.version));
    }
    return at->second;
  }

  // Values of all regions are in one table: a region's ids follow those of the one it stands in.
  uint32_t make_region(const ir::Graph& g) {
    auto index = static_cast<uint32_t>(regions_.size());
    regions_.emplace_back();
    auto base = static_cast<uint32_t>(values_.size());
    for (size_t i = 0; i < g.value_count(); ++i)
      values_.push_back(make_value(g.value(static_cast<ir::ValueId>(i))));
    std::vector<uint32_t> inputs, outputs;
    for (ir::ValueId id : g.inputs()) inputs.push_back(base + static_cast<uint32_t>(id));
    for (const auto& out : g.outputs()) outputs.push_back(base + static_cast<uint32_t>(out.value));
    Offsets<fbs::Node> nodes;
    for (const ir::Node& node : g.nodes()) {
      if (!node.removed()) nodes.push_back(make_node(node, base));
    }
    regions_[index] = fbs::CreateRegion(b_, b_.CreateVector(inputs), b_.CreateVector(outputs),
                                        b_.CreateVector(nodes));
    return index;
  }

  Offset<fbs::Entry> make_entry() {
    make_region(g_);
    auto value_list = b_.CreateVector(values_);
    auto region_list = b_.CreateVector(regions_);
    return fbs::CreateEntry(b_, b_.CreateString("main"), value_list, region_list);
  }

  std::vector<uint8_t> assemble() const {
    FileHeader header = {};
    memcpy(header.magic, kFileMagic, sizeof(kFileMagic));
    header.version = kFileVersion;
    if (!custom_ops_.empty()) header.required_features |= kFeatureCustomOps;
    if (regions_.size() > 1) header.required_features |= kFeatureRegions;
    header.header_bytes = sizeof(FileHeader);
    header.table_offset = sizeof(FileHeader);
    header.table_bytes = b_.GetSize();
    header.segments_offset = align_up(header.table_offset + header.table_bytes, kSegmentAlignment);
    header.segments_bytes = segment_.size();
    header.file_bytes = header.segments_offset + header.segments_bytes;
    std::vector<uint8_t> file(header.file_bytes);
    memcpy(file.data(), &header, sizeof(header));
    memcpy(file.data() + header.table_offset, b_.GetBufferPointer(), header.table_bytes);
    if (!segment_.empty())
      memcpy(file.data() + header.segments_offset, segment_.data(), segment_.size());
    return file;
  }

  const ir::Graph& g_;
  const ProgramInfo& info_;
  FlatBufferBuilder b_;
  std::map<std::string, uint32_t> symbols_;
  std::vector<uint8_t> segment_;
  Offsets<fbs::Constant> constants_;
  std::map<std::tuple<const void*, DType, std::vector<int64_t>, std::string>, uint32_t>
      constant_of_;
  Offsets<fbs::Value> values_;
  Offsets<fbs::Region> regions_;
  std::map<OpId, uint16_t> custom_id_;
  Offsets<fbs::CustomOp> custom_ops_;
};

// The graph with what a program needs: no holes, and every output its own node's value under the
// output's name.
ir::Graph prepared(const ir::Graph& graph) {
  ir::Graph g = graph;
  g.compact();
  std::map<ir::ValueId, int> seen;
  for (size_t k = 0; k < g.outputs().size(); ++k) {
    ir::ValueId id = g.outputs()[k].value;
    if (g.value(id).origin != ir::ValueOrigin::kNode || seen[id]++ > 0) {
      ir::ValueId copy = g.emit(OpId::kIdentity, {id}, g.outputs()[k].name);
      g.outputs()[k].value = copy;
    }
    g.value(g.outputs()[k].value).name = g.outputs()[k].name;
  }
  return g;
}

}  // namespace

std::vector<uint8_t> program_bytes(const ir::Graph& graph, const ProgramInfo& info) {
  ir::Graph g = prepared(graph);
  return Writer(g, info).write();
}

void write_program(const ir::Graph& graph, const std::string& path, const ProgramInfo& info) {
  std::vector<uint8_t> bytes = program_bytes(graph, info);
  check_status(write_file_atomically(path.c_str(), bytes.data(), bytes.size()));
}

}  // namespace wick
