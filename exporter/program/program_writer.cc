#include "exporter/program/program_writer.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/core.h>

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

constexpr int kMaxRegionDepth = 8;  // the loader's limit

void check_depth(const ir::Graph& g, int depth) {
  for (const ir::Node& node : g.nodes()) {
    if (node.regions.empty()) continue;
    if (depth >= kMaxRegionDepth) {
      throw Error(fmt::format("{} '{}': it stands {} regions deep, a program holds {}",
                              op_info(node.op)->name, node.name, depth + 1, kMaxRegionDepth),
                  Code::kBudgetExceeded);
    }
    for (const ir::Graph& region : node.regions) check_depth(region, depth + 1);
  }
}

void check_writable(const ir::Graph& g) {
  constexpr size_t kMaxPorts = 4096;  // the loader's limit
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

// The digest is of everything but its own 32 bytes.
void write_file_digest(std::vector<uint8_t>* file) {
  FileDigest block = {};
  memcpy(block.magic, kDigestMagic, sizeof(kDigestMagic));
  memcpy(file->data() + sizeof(FileHeader), &block, sizeof(block));
  const Span<const uint8_t> bytes(*file);
  Sha256 hash;
  hash.update(bytes.subspan(0, kDigestAt));
  hash.update(bytes.subspan(kDigestAt + kDigestBytes));
  hash.finish(file->data() + kDigestAt);
}

class Writer {
 public:
  // `lent`, if given, gets the constants, which then are no part of the file.
  Writer(const ir::Graph& graph, const ProgramInfo& info, Span<const PackedConstant> packed,
         std::vector<HostTensor>* lent = nullptr)
      : g_(graph), info_(info), lent_(lent) {
    for (const PackedConstant& form : packed) packed_[form.constant].push_back(form);
  }

  std::vector<uint8_t> write() {
    check_writable(g_);
    Offsets<fbs::Symbol> symbols;
    add_symbols(g_, &symbols);
    auto entry = make_entry();
    segment_.resize(align_up(segment_.size(), kSegmentAlignment));
    std::vector<uint8_t> digest;
    Offsets<fbs::Segment> segments;
    auto add_segment = [&](uint64_t offset, Span<const uint8_t> bytes) {
      auto sum = sha256(bytes);
      segments.push_back(
          fbs::CreateSegment(b_, offset, bytes.size(), b_.CreateVector(sum.data(), sum.size())));
      if (segments.size() == 1) digest.assign(sum.begin(), sum.end());
    };
    if (lent_ != nullptr) {
      for (const HostTensor& t : *lent_) segments.push_back(fbs::CreateSegment(b_, 0, t.nbytes()));
    } else {
      // The segment is added even if each constant is empty, since they name it.
      if (!constants_.empty()) add_segment(0, segment_);
      if (!packed_segment_.empty()) add_segment(segment_.size(), packed_segment_);
      if (digest.empty()) {
        auto sum = sha256({});
        digest.assign(sum.begin(), sum.end());
      }
    }
    std::vector<Offset<flatbuffers::String>> labels;
    for (const auto& label : g_.labels) labels.push_back(b_.CreateString(label));
    Offsets<fbs::KeyValue> metadata;
    auto described = g_.metadata;
    if (!info_.passes.empty()) described["wick.passes"] = info_.passes;
    for (const auto& [key, value] : described) {
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
  // Lists a region's own symbols by their names: no entry input has them, so nothing ever binds
  // them.
  void add_symbols(const ir::Graph& g, Offsets<fbs::Symbol>* list) {
    for (const auto& s : g.symbols()) {
      if (!symbols_.emplace(s.name, static_cast<uint32_t>(symbols_.size() + 1)).second) continue;
      list->push_back(fbs::CreateSymbol(b_, b_.CreateString(s.name), s.min, s.max));
    }
    for (const ir::Node& node : g.nodes()) {
      for (const ir::Graph& region : node.regions) add_symbols(region, list);
    }
  }

  // Constants are in one segment, each at a multiple of 64. Those that share their bytes (an outer
  // one that a region reads) are stored once.
  uint32_t add_constant(const ir::Value& v) {
    std::vector<int64_t> dims(v.constant.shape().begin(), v.constant.shape().end());
    auto key = std::make_tuple(v.constant.address(), v.dtype, dims, v.name);
    if (auto known = constant_of_.find(key); known != constant_of_.end() && v.constant.nbytes() > 0)
      return known->second;
    auto id = static_cast<uint32_t>(constants_.size());
    constant_of_[key] = id;
    const HostTensor bytes = v.dtype == DType::kString ? string_bytes(v.constant) : v.constant;
    uint64_t at = 0;
    if (lent_ != nullptr) {
      lent_->push_back(bytes);
    } else {
      at = append(&segment_, {static_cast<const uint8_t*>(bytes.data()), bytes.nbytes()});
    }
    auto raw = fbs::CreateBuffer(b_, lent_ != nullptr ? id : 0, at, bytes.nbytes());
    Offsets<fbs::Buffer> forms;
    for (const PackedConstant& form : packed_[id]) {
      const uint64_t place = append(&packed_segment_, form.bytes);
      forms.push_back(fbs::CreateBuffer(b_, 1, place, form.bytes.size(), form.layout));
    }
    auto name = b_.CreateString(v.name);
    auto shape = b_.CreateVector(dims);
    auto list =
        forms.empty() ? Offset<flatbuffers::Vector<Offset<fbs::Buffer>>>() : b_.CreateVector(forms);
    constants_.push_back(
        fbs::CreateConstant(b_, name, static_cast<uint8_t>(v.dtype), shape, raw, list));
    return id;
  }

  // Encodes strings: the offsets where each begins and the last one ends, then the text.
  static HostTensor string_bytes(const HostTensor& t) {
    std::vector<uint64_t> offsets = {0};
    std::string text;
    for (int64_t i = 0; i < t.numel(); ++i) {
      text += t.string_at(i);
      offsets.push_back(text.size());
    }
    const size_t begin = offsets.size() * sizeof(uint64_t);
    HostTensor bytes(DType::kU8, Shape{static_cast<int64_t>(begin + text.size())});
    memcpy(bytes.data(), offsets.data(), begin);
    if (!text.empty()) memcpy(bytes.as<char>() + begin, text.data(), text.size());
    return bytes;
  }

  static uint64_t append(std::vector<uint8_t>* segment, Span<const uint8_t> bytes) {
    segment->resize(align_up(segment->size(), kSegmentAlignment));
    const uint64_t at = segment->size();
    segment->insert(segment->end(), bytes.begin(), bytes.end());
    return at;
  }

  // A dim that is an expression cannot be stored, and the value is unranked then; the session
  // computes it again.
  Offset<fbs::Value> make_value(const ir::Value& v) {
    bool is_constant = v.origin == ir::ValueOrigin::kConstant;
    uint32_t constant = is_constant ? add_constant(v) : kNoIndex;
    std::vector<fbs::Dim> dims;
    const bool tensor = !is_container(v.dtype);
    non_tensor_ = non_tensor_ || !tensor || v.dtype == DType::kString;
    bool ranked = v.ranked && tensor;
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
    const auto kind = tensor                        ? fbs::ValueKind::Tensor
                      : v.dtype == DType::kSequence ? fbs::ValueKind::Sequence
                      : v.dtype == DType::kOptional ? fbs::ValueKind::Optional
                                                    : fbs::ValueKind::OptionalSequence;
    return fbs::CreateValue(b_, name, kind, static_cast<uint8_t>(tensor ? v.dtype : v.element),
                            !ranked, list, constant);
  }

  Offset<fbs::Node> make_node(const ir::Node& node, uint32_t base) {
    const OpInfo& op = *op_info(node.op);
    Offsets<fbs::Attr> attrs;
    AnyAttrs attrs_copy = node.attrs;
    for (size_t k = 0; k < node.regions.size(); ++k) {
      uint32_t index = make_region(node.regions[k]);
      attrs.push_back(fbs::CreateAttr(b_, static_cast<uint16_t>(kRegionField + k),
                                      fbs::AttrKind::Region, index));
    }
    for (const AttrField& f : op.attrs->fields) {
      if (attr_is_default(*op.attrs, f, node.attrs.get())) continue;
      Offset<flatbuffers::Vector<int64_t>> ints;
      Offset<flatbuffers::String> text;
      int64_t i = 0;
      double d = 0;
      if (f.kind == AttrKind::kInts) {
        auto list = attr_ints(f, node.attrs.get());
        ints = b_.CreateVector(list.data(), list.size());
      } else if (f.kind == AttrKind::kText) {
        text = b_.CreateString(ir::attr_text(f, node.attrs.get()));
      } else if (f.kind == AttrKind::kInt) {
        i = attr_int(f, attrs_copy.get());
      } else {
        d = attr_float(f, attrs_copy.get());
      }
      attrs.push_back(
          fbs::CreateAttr(b_, f.id, static_cast<fbs::AttrKind>(f.kind), i, d, ints, text));
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

  // A custom op's id is its index in the file's own list.
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

  // The values of all regions are in one table: a region's ids follow those of the region around
  // it.
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
    header.required_features = edition_feature(g_.edition());
    if (!custom_ops_.empty()) header.required_features |= kFeatureCustomOps;
    if (non_tensor_) header.required_features |= kFeatureNonTensor;
    if (regions_.size() > 1) header.required_features |= kFeatureRegions;
    if (lent_ != nullptr && !lent_->empty()) header.required_features |= kFeatureLent;
    header.header_bytes = sizeof(FileHeader);
    header.table_offset = sizeof(FileHeader) + (lent_ == nullptr ? sizeof(FileDigest) : 0);
    header.table_bytes = b_.GetSize();
    header.segments_offset = align_up(header.table_offset + header.table_bytes, kSegmentAlignment);
    header.segments_bytes = segment_.size() + packed_segment_.size();
    header.file_bytes = header.segments_offset + header.segments_bytes;
    std::vector<uint8_t> file(header.file_bytes);
    memcpy(file.data(), &header, sizeof(header));
    memcpy(file.data() + header.table_offset, b_.GetBufferPointer(), header.table_bytes);
    uint8_t* segments = file.data() + header.segments_offset;
    if (!segment_.empty()) memcpy(segments, segment_.data(), segment_.size());
    if (!packed_segment_.empty())
      memcpy(segments + segment_.size(), packed_segment_.data(), packed_segment_.size());
    if (lent_ == nullptr) write_file_digest(&file);
    return file;
  }

  const ir::Graph& g_;
  const ProgramInfo& info_;
  std::vector<HostTensor>* lent_;
  FlatBufferBuilder b_;
  std::map<std::string, uint32_t> symbols_;
  std::vector<uint8_t> segment_, packed_segment_;
  std::map<uint32_t, std::vector<PackedConstant>> packed_;
  Offsets<fbs::Constant> constants_;
  std::map<std::tuple<const void*, DType, std::vector<int64_t>, std::string>, uint32_t>
      constant_of_;
  Offsets<fbs::Value> values_;
  Offsets<fbs::Region> regions_;
  std::map<OpId, uint16_t> custom_id_;
  Offsets<fbs::CustomOp> custom_ops_;
  bool non_tensor_ = false;
};

// Returns the graph as a program needs it: without holes, and with every output as a node's value
// of its own, under the output's name.
ir::Graph prepared(ir::Graph g) {
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

void ProgramInfo::passed(const ir::PassReport& report) {
  numerics = static_cast<NumericsClass>(report.numerics);
  for (const std::string& name : report.changed) passes += (passes.empty() ? "" : ", ") + name;
}

std::vector<uint8_t> program_bytes(const ir::Graph& graph, const ProgramInfo& info) {
  return program_bytes(graph, info, {});
}

std::vector<uint8_t> program_bytes(const ir::Graph& graph, const ProgramInfo& info,
                                   Span<const PackedConstant> packed) {
  ir::Graph g = prepared(graph);
  return Writer(g, info, packed).write();
}

LentProgram lend_program(ir::Graph graph, const ProgramInfo& info) {
  ir::Graph g = prepared(std::move(graph));
  LentProgram program;
  program.bytes = Writer(g, info, {}, &program.constants).write();
  for (const HostTensor& t : program.constants)
    program.segments.push_back(
        {{static_cast<const uint8_t*>(t.address()), t.nbytes()}, t.unread()});
  return program;
}

void write_program(const ir::Graph& graph, const std::string& path, const ProgramInfo& info,
                   Span<const PackedConstant> packed) {
  std::vector<uint8_t> bytes = program_bytes(graph, info, packed);
  check_status(write_file_atomically(path.c_str(), bytes.data(), bytes.size()));
}

}  // namespace wick
