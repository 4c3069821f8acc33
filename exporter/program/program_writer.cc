#include "exporter/program/program_writer.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "exporter/program/lzma_writer.h"
#include "graph/ir/stored_dtype.h"
#include "runtime/core/atomic_file.h"
#include "runtime/core/half.h"
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

// Constants of compact files up to so many bytes are compressed with the table.
constexpr size_t kMostDecoded = 4096;
// The segments of a compact file.
enum CompactSegment : uint32_t { kWeightSegment, kPackedSegment, kDecodedSegment };

HostTensor narrowed(const HostTensor& t, DType to) {
  HostTensor out(to, t.shape());
  for (int64_t i = 0; i < t.numel(); ++i) {
    out.as<uint16_t>()[i] =
        to == DType::kF16 ? Half(t.as<float>()[i]).bits : BFloat16(t.as<float>()[i]).bits;
  }
  return out;
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

// The ports of an entry point that are states.
struct Ports {
  std::map<ir::ValueId, uint32_t> read;   // inputs, and the states that they are
  std::set<std::string> written;          // outputs that become states
  std::vector<fbs::StateUpdate> updates;  // the same by values of the body
};

class Writer {
 public:
  // `lent`, if given, gets the constants, which then are no part of the file.
  Writer(Span<const ir::Entry> entries, const ProgramInfo& info, Span<const PackedConstant> packed,
         const ProgramForm& form, std::vector<HostTensor>* lent = nullptr)
      : all_(entries), g_(entries[0].graph), info_(info), form_(form), lent_(lent) {
    for (const PackedConstant& p : packed) packed_[p.constant].push_back(p);
  }

  std::vector<uint8_t> write() {
    Offsets<fbs::Symbol> symbols;
    for (const ir::Entry& entry : all_) {
      check_writable(entry.graph);
      check_edition(entry.graph);
      add_symbols(entry.graph, &symbols);
    }
    Offsets<fbs::Entry> entries;
    for (const ir::Entry& entry : all_) entries.push_back(make_entry(entry));
    segment_.resize(align_up(segment_.size(), kSegmentAlignment));
    // Of a compact file too: the weights' digest does not depend on the form.
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
    } else if (form_.compact) {
      add_segment(0, segment_);
      add_segment(segment_.size(), packed_segment_);
      segments.push_back(fbs::CreateSegment(b_, 0, decoded_.size(), 0, true));
      pad_plain();
      digest.resize(32);
      plain_.finish(digest.data());
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
    auto state_list = states_.empty() ? Offset<flatbuffers::Vector<Offset<fbs::State>>>()
                                      : b_.CreateVector(states_);
    auto entry_list = b_.CreateVector(entries);
    auto label_list = b_.CreateVector(labels);
    auto metadata_list = b_.CreateVector(metadata);
    auto custom_list = b_.CreateVector(custom_ops_);
    fbs::ProgramBuilder program(b_);
    program.add_symbols(symbol_list);
    program.add_segments(segment_list);
    program.add_constants(constant_list);
    if (!states_.empty()) program.add_states(state_list);
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
      if (!symbols_.emplace(s.name, static_cast<uint32_t>(symbols_.size() + 1)).second) {
        check_bounds(s);
        continue;
      }
      list->push_back(fbs::CreateSymbol(b_, b_.CreateString(s.name), s.min, s.max));
    }
    for (const ir::Node& node : g.nodes()) {
      for (const ir::Graph& region : node.regions) add_symbols(region, list);
    }
  }

  // One symbol of the program stands for a size in all of its entry points.
  void check_bounds(const ir::SymbolInfo& s) const {
    for (const ir::Entry& entry : all_) {
      const ir::SymbolInfo* first = entry.graph.find_symbol(s.name);
      if (first == nullptr) continue;
      if (first->min == s.min && first->max == s.max) return;
      throw Error(fmt::format("entry points give the size {} other bounds: {} to {}, and {} to {}",
                              s.name, first->min, first->max, s.min, s.max),
                  Code::kInvalidArgument);
    }
  }
  void check_edition(const ir::Graph& g) const {
    if (g.edition() == g_.edition()) return;
    throw Error("entry points of one program have one edition, these have two",
                Code::kInvalidArgument);
  }

  // Constants are in one segment, each at a multiple of 64. Those that share their bytes (an outer
  // one that a region reads) are stored once, and so are those that an earlier entry point has: of
  // their bytes, since passes make each graph its own.
  uint32_t add_constant(const ir::Value& v) {
    std::vector<int64_t> dims(v.constant.shape().begin(), v.constant.shape().end());
    auto key = std::make_tuple(v.constant.address(), v.dtype, dims, v.name);
    if (auto known = constant_of_.find(key); known != constant_of_.end() && v.constant.nbytes() > 0)
      return known->second;
    auto id = static_cast<uint32_t>(constants_.size());
    if (all_.size() > 1 && v.dtype != DType::kString) {
      auto content = std::make_tuple(
          sha256({static_cast<const uint8_t*>(v.constant.data()), v.constant.nbytes()}), v.dtype,
          dims, v.name);
      const auto [first, fresh] = content_.emplace(content, id);
      if (!fresh) return constant_of_[key] = first->second;
    }
    constant_of_[key] = id;
    const HostTensor bytes = v.dtype == DType::kString ? string_bytes(v.constant) : v.constant;
    Offset<fbs::Buffer> raw;
    if (lent_ != nullptr) {
      lent_->push_back(bytes);
      raw = fbs::CreateBuffer(b_, id, 0, bytes.nbytes());
    } else if (form_.compact) {
      raw = compact_buffer(bytes);
    } else {
      const uint64_t at = append(&segment_, bytes_of(bytes));
      raw = fbs::CreateBuffer(b_, 0, at, bytes.nbytes());
    }
    Offsets<fbs::Buffer> forms;
    for (const PackedConstant& form : packed_[id]) {
      const uint64_t place = append(&packed_segment_, form.bytes);
      forms.push_back(fbs::CreateBuffer(b_, kPackedSegment, place, form.bytes.size(), form.layout));
    }
    auto name = b_.CreateString(form_.strip_names ? "" : v.name);
    auto shape = b_.CreateVector(dims);
    auto list =
        forms.empty() ? Offset<flatbuffers::Vector<Offset<fbs::Buffer>>>() : b_.CreateVector(forms);
    constants_.push_back(
        fbs::CreateConstant(b_, name, static_cast<uint8_t>(v.dtype), shape, raw, list));
    return id;
  }

  static Span<const uint8_t> bytes_of(const HostTensor& t) {
    return {static_cast<const uint8_t*>(t.data()), t.nbytes()};
  }

  // Small constants are decoded with the table, others lie in the file, as 16-bit floats if these
  // hold their numbers.
  Offset<fbs::Buffer> compact_buffer(const HostTensor& t) {
    pad_plain();
    plain_.update(bytes_of(t));
    plain_bytes_ += t.nbytes();
    if (t.nbytes() <= kMostDecoded)
      return fbs::CreateBuffer(b_, kDecodedSegment, append(&decoded_, bytes_of(t)), t.nbytes());
    const DType stored = ir::stored_dtype(t);
    const HostTensor kept = stored == t.dtype() ? t : narrowed(t, stored);
    const uint32_t layout = stored == t.dtype()     ? 0
                            : stored == DType::kF16 ? kStoredF16
                                                    : kStoredBF16;
    return fbs::CreateBuffer(b_, kWeightSegment, append(&segment_, bytes_of(kept)), kept.nbytes(),
                             layout);
  }
  void pad_plain() {
    constexpr uint8_t kZeros[kSegmentAlignment] = {};
    const uint64_t to = align_up(plain_bytes_, kSegmentAlignment);
    plain_.update({kZeros, static_cast<size_t>(to - plain_bytes_)});
    plain_bytes_ = to;
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

  // Returns whether the value has a rank and each dim is a number or a symbol.
  bool make_dims(const ir::Value& v, std::vector<fbs::Dim>* dims) const {
    if (!v.ranked) return false;
    for (int k = 0; k < v.shape.rank(); ++k) {
      const SymDim& d = v.shape[k];
      auto symbol = d.known() ? symbols_.end() : symbols_.find(d.text());
      if (d.known()) {
        dims->emplace_back(d.constant(), 0, 0);
      } else if (symbol != symbols_.end()) {
        dims->emplace_back(0, symbol->second, 0);
      } else {
        return false;
      }
    }
    return true;
  }

  // A dim that is an expression cannot be stored, and the value is unranked then; the session
  // computes it again.
  Offset<fbs::Value> make_value(const ir::Value& v, bool named, uint32_t state) {
    bool is_constant = v.origin == ir::ValueOrigin::kConstant;
    uint32_t constant = is_constant ? add_constant(v) : kNoIndex;
    std::vector<fbs::Dim> dims;
    const bool tensor = !is_container(v.dtype);
    non_tensor_ = non_tensor_ || !tensor || v.dtype == DType::kString;
    const bool ranked = tensor && make_dims(v, &dims);
    if (!ranked) dims.clear();
    auto name = b_.CreateString(named ? v.name : "");
    auto list = b_.CreateVectorOfStructs(dims);
    const auto kind = tensor                        ? fbs::ValueKind::Tensor
                      : v.dtype == DType::kSequence ? fbs::ValueKind::Sequence
                      : v.dtype == DType::kOptional ? fbs::ValueKind::Optional
                                                    : fbs::ValueKind::OptionalSequence;
    return fbs::CreateValue(b_, name, kind, static_cast<uint8_t>(tensor ? v.dtype : v.element),
                            !ranked, list, constant, state);
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
      // FlatBuffers leaves out numbers that equal the default 0, which -0 does, too.
      b_.ForceDefaults(d == 0 && std::signbit(d));
      attrs.push_back(
          fbs::CreateAttr(b_, f.id, static_cast<fbs::AttrKind>(f.kind), i, d, ints, text));
      b_.ForceDefaults(false);
    }
    std::vector<uint32_t> in, out;
    for (ir::ValueId id : node.inputs)
      in.push_back(id == ir::kNoValue ? kNoIndex : base + static_cast<uint32_t>(id));
    for (ir::ValueId id : node.outputs) out.push_back(base + static_cast<uint32_t>(id));
    auto in_list = b_.CreateVector(in), out_list = b_.CreateVector(out);
    auto attr_list = b_.CreateVector(attrs);
    auto name = b_.CreateString(form_.strip_names ? "" : node.name);
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
  uint32_t make_region(const ir::Graph& g, const Ports& states = {}) {
    auto index = static_cast<uint32_t>(regions_.size());
    regions_.emplace_back();
    auto base = static_cast<uint32_t>(values_.size());
    std::set<ir::ValueId> ports;  // whose names a program keeps: those of an entry point's body
    if (index == 0) {
      ports.insert(g.inputs().begin(), g.inputs().end());
      for (const ir::GraphOutput& out : g.outputs()) ports.insert(out.value);
    }
    for (size_t i = 0; i < g.value_count(); ++i) {
      const auto id = static_cast<ir::ValueId>(i);
      const auto state = states.read.find(id);
      values_.push_back(make_value(g.value(id), !form_.strip_names || ports.contains(id),
                                   state == states.read.end() ? kNoIndex : state->second));
    }
    std::vector<uint32_t> inputs, outputs;
    for (ir::ValueId id : g.inputs()) {
      if (!states.read.contains(id)) inputs.push_back(base + static_cast<uint32_t>(id));
    }
    for (const auto& out : g.outputs()) {
      if (!states.written.contains(out.name))
        outputs.push_back(base + static_cast<uint32_t>(out.value));
    }
    Offsets<fbs::Node> nodes;
    for (const ir::Node& node : g.nodes()) {
      if (!node.removed()) nodes.push_back(make_node(node, base));
    }
    regions_[index] = fbs::CreateRegion(b_, b_.CreateVector(inputs), b_.CreateVector(outputs),
                                        b_.CreateVector(nodes));
    return index;
  }

  // Returns the number of a state with the type of this value, which the program has or gets.
  uint32_t state_of(const ir::Entry& entry, const std::string& name, const ir::Value& like) {
    std::vector<fbs::Dim> dims;
    if (like.dtype == DType::kString || is_container(like.dtype) || !make_dims(like, &dims)) {
      throw Error(fmt::format("entry point {}: state {} is no tensor of numbers whose sizes are "
                              "numbers or symbols",
                              entry.name, name),
                  Code::kUnsupported);
    }
    const auto type = std::make_pair(like.dtype, like.shape);
    const auto [at, fresh] = state_of_.emplace(name, states_.size());
    if (!fresh) {
      const auto& [dtype, shape] = state_types_[at->second];
      bool same = dtype == like.dtype && shape.rank() == like.shape.rank();
      for (int d = 0; same && d < shape.rank(); ++d) same = shape[d].text() == like.shape[d].text();
      if (same) return static_cast<uint32_t>(at->second);
      throw Error(fmt::format("entry point {}: state {} has another type or shape than before",
                              entry.name, name),
                  Code::kInvalidArgument);
    }
    state_types_.push_back(type);
    std::vector<int64_t> numbers;
    for (const fbs::Dim& d : dims) {
      if (d.symbol() == 0) numbers.push_back(d.value());
    }
    const bool known = numbers.size() == dims.size();
    if (!known) numbers.clear();
    auto text = b_.CreateString(name);
    auto list = b_.CreateVector(numbers);
    auto sizes =
        known ? Offset<flatbuffers::Vector<const fbs::Dim*>>() : b_.CreateVectorOfStructs(dims);
    states_.push_back(
        fbs::CreateState(b_, text, static_cast<uint8_t>(like.dtype), list, kNoIndex, sizes));
    return static_cast<uint32_t>(at->second);
  }

  // Refuses an output that the loader would not let become its state.
  void check_becomes(const ir::Entry& entry, const ir::EntryState& s, const ir::Value& made) const {
    const auto& [dtype, shape] = state_types_[state_of_.at(s.name)];
    bool fits = made.dtype == dtype && (!made.ranked || made.shape.rank() == shape.rank());
    for (int d = 0; fits && made.ranked && d < shape.rank(); ++d) {
      const SymDim &a = made.shape[d], &b = shape[d];
      fits = !a.known() || !b.known() || a.constant() == b.constant();
    }
    if (fits) return;
    throw Error(fmt::format("entry point {}: output {} has another type or shape than state {}",
                            entry.name, s.output, s.name),
                Code::kInvalidArgument);
  }

  // The ports of a graph that are states: which state an input reads and an output becomes.
  Ports ports_of(const ir::Entry& entry) {
    Ports ports;
    const ir::Graph& g = entry.graph;
    auto missing = [&](const char* kind, const std::string& name) {
      throw Error(fmt::format("entry point {}: its graph has no {} {}", entry.name, kind, name),
                  Code::kNotFound);
    };
    std::set<std::string> written;
    auto twice = [&](const char* kind, const std::string& name, const char* what) {
      throw Error(fmt::format("entry point {}: {} {} {}", entry.name, kind, name, what),
                  Code::kInvalidArgument);
    };
    for (const ir::EntryState& s : entry.states) {
      ir::ValueId read = ir::kNoValue, made = ir::kNoValue;
      for (ir::ValueId id : g.inputs()) {
        if (!s.input.empty() && g.value(id).name == s.input) read = id;
      }
      for (const ir::GraphOutput& out : g.outputs()) {
        if (!s.output.empty() && out.name == s.output) made = out.value;
      }
      if (read == ir::kNoValue && (!s.input.empty() || made == ir::kNoValue))
        missing("input", s.input);
      if (made == ir::kNoValue && !s.output.empty()) missing("output", s.output);
      const uint32_t state = state_of(entry, s.name, g.value(read != ir::kNoValue ? read : made));
      if (read != ir::kNoValue && !ports.read.emplace(read, state).second)
        twice("input", s.input, "is two states");
      if (made == ir::kNoValue) continue;
      check_becomes(entry, s, g.value(made));
      if (!written.insert(s.name).second) twice("state", s.name, "has two outputs");
      ports.written.insert(s.output);
      ports.updates.emplace_back(state, static_cast<uint32_t>(made));
    }
    return ports;
  }

  Offset<fbs::Entry> make_entry(const ir::Entry& entry) {
    values_.clear();
    regions_.clear();
    const Ports ports = ports_of(entry);
    make_region(entry.graph, ports);
    regions_used_ = regions_used_ || regions_.size() > 1;
    auto value_list = b_.CreateVector(values_);
    auto region_list = b_.CreateVector(regions_);
    auto updates = ports.updates.empty() ? Offset<flatbuffers::Vector<const fbs::StateUpdate*>>()
                                         : b_.CreateVectorOfStructs(ports.updates);
    return fbs::CreateEntry(b_, b_.CreateString(entry.name), value_list, region_list, updates);
  }

  // Returns the head, the stream and as many zeros as the reader's bound of expansion asks for.
  std::vector<uint8_t> compact_table() const {
    std::vector<uint8_t> whole(b_.GetBufferPointer(), b_.GetBufferPointer() + b_.GetSize());
    whole.resize(align_up(whole.size(), kSegmentAlignment));
    whole.insert(whole.end(), decoded_.begin(), decoded_.end());
    CompactHead head = {};
    memcpy(head.magic, kCompactMagic, sizeof(kCompactMagic));
    head.table_bytes = b_.GetSize();
    head.decoded_bytes = decoded_.size();
    const std::vector<uint8_t> stream = lzma::encode(whole);
    std::vector<uint8_t> table(sizeof(head));
    memcpy(table.data(), &head, sizeof(head));
    table.insert(table.end(), stream.begin(), stream.end());
    const size_t least = (whole.size() + kMostExpansion - 1) / kMostExpansion;
    if (table.size() < least) table.resize(least);
    return table;
  }

  std::vector<uint8_t> assemble() const {
    std::vector<uint8_t> compact;
    if (form_.compact) compact = compact_table();
    const Span<const uint8_t> table =
        form_.compact ? Span<const uint8_t>(compact)
                      : Span<const uint8_t>(b_.GetBufferPointer(), b_.GetSize());
    FileHeader header = {};
    memcpy(header.magic, kFileMagic, sizeof(kFileMagic));
    header.version = form_.compact ? kCompactVersion : kFileVersion;
    header.required_features = edition_feature(g_.edition());
    if (!custom_ops_.empty()) header.required_features |= kFeatureCustomOps;
    if (non_tensor_) header.required_features |= kFeatureNonTensor;
    if (regions_used_) header.required_features |= kFeatureRegions;
    if (!states_.empty()) header.required_features |= kFeatureState;
    if (lent_ != nullptr && !lent_->empty()) header.required_features |= kFeatureLent;
    header.header_bytes = sizeof(FileHeader);
    header.table_offset = sizeof(FileHeader) + (lent_ == nullptr ? sizeof(FileDigest) : 0);
    header.table_bytes = table.size();
    header.segments_offset = align_up(header.table_offset + header.table_bytes, kSegmentAlignment);
    header.segments_bytes = segment_.size() + packed_segment_.size();
    header.file_bytes = header.segments_offset + header.segments_bytes;
    std::vector<uint8_t> file(header.file_bytes);
    memcpy(file.data(), &header, sizeof(header));
    memcpy(file.data() + header.table_offset, table.data(), header.table_bytes);
    uint8_t* segments = file.data() + header.segments_offset;
    if (!segment_.empty()) memcpy(segments, segment_.data(), segment_.size());
    if (!packed_segment_.empty())
      memcpy(segments + segment_.size(), packed_segment_.data(), packed_segment_.size());
    if (lent_ == nullptr) write_file_digest(&file);
    return file;
  }

  Span<const ir::Entry> all_;
  const ir::Graph& g_;  // the first one, whose labels and metadata are the program's
  const ProgramInfo& info_;
  const ProgramForm form_;
  std::vector<HostTensor>* lent_;
  FlatBufferBuilder b_;
  std::map<std::string, uint32_t> symbols_;
  std::vector<uint8_t> segment_, packed_segment_, decoded_;
  Sha256 plain_;  // of the weights as a plain file has them
  uint64_t plain_bytes_ = 0;
  std::map<uint32_t, std::vector<PackedConstant>> packed_;
  Offsets<fbs::Constant> constants_;
  std::map<std::tuple<const void*, DType, std::vector<int64_t>, std::string>, uint32_t>
      constant_of_;
  std::map<std::tuple<std::array<uint8_t, 32>, DType, std::vector<int64_t>, std::string>, uint32_t>
      content_;
  std::map<std::string, size_t> state_of_;
  std::vector<std::pair<DType, SymShape>> state_types_;
  Offsets<fbs::State> states_;
  Offsets<fbs::Value> values_;  // of the present entry point
  Offsets<fbs::Region> regions_;
  std::map<OpId, uint16_t> custom_id_;
  Offsets<fbs::CustomOp> custom_ops_;
  bool non_tensor_ = false, regions_used_ = false;
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
                                   Span<const PackedConstant> packed, const ProgramForm& form) {
  const ir::Entry main = {"main", prepared(graph), {}};
  return Writer({&main, 1}, info, packed, form).write();
}

std::vector<uint8_t> program_bytes(std::vector<ir::Entry> entries, const ProgramInfo& info,
                                   const ProgramForm& form) {
  if (entries.empty())
    throw Error("a program has at least one entry point", Code::kInvalidArgument);
  std::set<std::string> names;
  for (ir::Entry& entry : entries) {
    if (entry.name.empty() || !names.insert(entry.name).second) {
      throw Error(fmt::format("entry points need names of their own, '{}' is not", entry.name),
                  Code::kInvalidArgument);
    }
    entry.graph = prepared(std::move(entry.graph));
  }
  return Writer(entries, info, {}, form).write();
}

LentProgram lend_program(ir::Graph graph, const ProgramInfo& info) {
  const ir::Entry main = {"main", prepared(std::move(graph)), {}};
  LentProgram program;
  program.bytes = Writer({&main, 1}, info, {}, {}, &program.constants).write();
  for (const HostTensor& t : program.constants)
    program.segments.push_back(
        {{static_cast<const uint8_t*>(t.address()), t.nbytes()}, t.unread()});
  return program;
}

void write_program(const ir::Graph& graph, const std::string& path, const ProgramInfo& info,
                   Span<const PackedConstant> packed, const ProgramForm& form) {
  std::vector<uint8_t> bytes = program_bytes(graph, info, packed, form);
  check_status(write_file_atomically(path.c_str(), bytes.data(), bytes.size()));
}

void write_program(std::vector<ir::Entry> entries, const std::string& path, const ProgramInfo& info,
                   const ProgramForm& form) {
  std::vector<uint8_t> bytes = program_bytes(std::move(entries), info, form);
  check_status(write_file_atomically(path.c_str(), bytes.data(), bytes.size()));
}

}  // namespace wick
