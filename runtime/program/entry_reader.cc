// Entry points: values, regions, nodes in definition order.
#include "runtime/ops/check_attrs.h"
#include "runtime/program/reader.h"

namespace wick {
namespace {

constexpr int kMaxRegionDepth = 8;

template <class T>
Span<const T> in_place(const flatbuffers::Vector<T>* v) {
  return v == nullptr ? Span<const T>{} : Span<const T>{v->data(), v->size()};
}

// The values of attribute kinds in the file match those of attrs/attr.h.
static_assert(static_cast<int>(fbs::AttrKind::Int) == static_cast<int>(AttrKind::kInt));
static_assert(static_cast<int>(fbs::AttrKind::Float) == static_cast<int>(AttrKind::kFloat));
static_assert(static_cast<int>(fbs::AttrKind::Ints) == static_cast<int>(AttrKind::kInts));
static_assert(static_cast<int>(fbs::AttrKind::String) == static_cast<int>(AttrKind::kText));

}  // namespace

Status ProgramReader::read_value(const fbs::Value& v, ValueDef* def) {
  def->name = text(v.name());
  WICK_TRY(read_type(v, def));
  if (def->unranked && count(v.dims()) != 0)
    return Status(Code::kInvalidProgram, "unranked, but has dimensions");
  WICK_TRY(read_dims(v.dims(), def->dtype, &def->dims));
  WICK_TRY(read_source(v, def));
  return v.quantization() == nullptr ? Status() : read_quantization(*v.quantization(), def);
}

Status ProgramReader::read_type(const fbs::Value& v, ValueDef* def) {
  if (v.kind() > fbs::ValueKind::MAX)
    return error(Code::kInvalidProgram, "unknown kind %d", static_cast<int>(v.kind()));
  def->kind = static_cast<ValueKind>(v.kind());
  if (v.dtype() == 0 || v.dtype() >= kDTypeCount)
    return error(Code::kInvalidProgram, "unknown dtype %u", v.dtype());
  def->dtype = static_cast<DType>(v.dtype());
  if (def->kind != ValueKind::kTensor || def->dtype == DType::kString) {
    WICK_TRY(need_feature(kFeatureNonTensor, "values that are not tensors of numbers"));
  }
  def->unranked = v.unranked();
  if (def->kind == ValueKind::kTensor) return {};
  if (!def->unranked || v.constant() != kNoIndex || v.state() != kNoIndex ||
      v.quantization() != nullptr) {
    return Status(Code::kInvalidProgram,
                  "what is no tensor has no dimensions, constant, state or quantization");
  }
  if (def->kind == ValueKind::kMap) return {};
  def->element = def->dtype;
  def->dtype = def->kind == ValueKind::kSequence   ? DType::kSequence
               : def->kind == ValueKind::kOptional ? DType::kOptional
                                                   : DType::kOptionalSequence;
  return {};
}

Status ProgramReader::read_dims(const flatbuffers::Vector<const fbs::Dim*>* list, DType dtype,
                                Span<const DimDef>* all) {
  const uint32_t rank = count(list);
  if (rank > kMaxRank) return error(Code::kInvalidProgram, "rank %u, at most %d", rank, kMaxRank);
  WICK_TRY(check_aligned(list));
  WICK_ASSIGN(auto dims, p_.arena_.array<DimDef>(rank));
  Shape least;
  for (uint32_t i = 0; i < rank; ++i) {
    const fbs::Dim& d = *list->Get(i);
    if (d.symbol() > p_.symbols_.size())
      return error(Code::kInvalidProgram, "there is no symbol %u", d.symbol());
    if (d.value() < 0 || (d.symbol() != 0 && d.value() != 0) || d.reserved() != 0) {
      return error(Code::kInvalidProgram, "dimension %u is not sound", i);
    }
    dims[i] = {d.value(), static_cast<int32_t>(d.symbol()) - 1};
    least.push_back(d.symbol() == 0 ? d.value() : 1);
  }
  if (!checked_bytes(least, dtype_bits(dtype)).ok()) {
    return error(Code::kInvalidProgram, "shape %s is too large", to_text(least).text);
  }
  *all = dims;
  return {};
}

// Reads the constant or state that the value refers to and checks that their types match.
Status ProgramReader::read_source(const fbs::Value& v, ValueDef* def) {
  def->constant = v.constant();
  def->state = v.state();
  auto same_as = [&](DType dtype, const Shape& shape) {  // it is a tensor: read_type
    bool same = !def->unranked && def->dtype == dtype &&
                def->dims.size() == static_cast<size_t>(shape.rank());
    for (int d = 0; same && d < shape.rank(); ++d) {
      const DimDef& dim = def->dims[static_cast<size_t>(d)];
      same = dim.symbol < 0 && dim.value == shape[d];
    }
    return same;
  };
  if (def->constant != kNoIndex) {
    if (def->constant >= p_.constants_.size()) {
      return error(Code::kInvalidProgram, "there is no constant %u", def->constant);
    }
    const TensorView& view = p_.constants_[def->constant].view;
    if (def->state != kNoIndex || !same_as(view.dtype, view.shape)) {
      return error(Code::kInvalidProgram, "it does not have the type of its constant %u",
                   def->constant);
    }
  }
  if (def->state != kNoIndex) {
    if (def->state >= p_.states_.size())
      return error(Code::kInvalidProgram, "there is no state %u", def->state);
    const StateDef& s = p_.states_[def->state];
    bool same = !def->unranked && def->dtype == s.dtype && def->dims.size() == s.dims.size();
    for (size_t d = 0; same && d < s.dims.size(); ++d)
      same = def->dims[d].symbol == s.dims[d].symbol && def->dims[d].value == s.dims[d].value;
    if (!same)
      return error(Code::kInvalidProgram, "it does not have the type of its state %u", def->state);
  }
  return {};
}

Status ProgramReader::read_quantization(const fbs::Quantization& q, ValueDef* def) {
  WICK_TRY(check_aligned(q.zero_points()));
  WICK_ASSIGN(auto quant, p_.arena_.array<QuantDef>(1));
  quant[0] = {in_place(q.scales()), in_place(q.zero_points()), q.axis(), q.block()};
  for (float s : quant[0].scales) {
    if (!(s > 0 && s <= 3.402823466e38f))
      return Status(Code::kInvalidProgram, "a scale must be finite and > 0");
  }
  if (quant[0].scales.empty() || q.axis() < -1 ||
      q.axis() >= static_cast<int32_t>(def->dims.size()) ||
      (!quant[0].zero_points.empty() && quant[0].zero_points.size() != quant[0].scales.size())) {
    return Status(Code::kInvalidProgram, "its quantization is not sound");
  }
  def->quant = &quant[0];
  return {};
}

Status ProgramReader::read_attrs(const fbs::Node& node, const OpInfo& info, void* attrs) {
  info.attrs->init(attrs);
  uint64_t seen = 0;
  for (uint32_t i = 0; i < count(node.attrs()); ++i) {
    const fbs::Attr& a = *node.attrs()->Get(i);
    if (a.kind() == fbs::AttrKind::Region && region_count(info.id) > 0) continue;  // list_regions
    const AttrField* field = nullptr;
    for (const AttrField& f : info.attrs->fields) {
      if (f.id == a.field()) field = &f;
    }
    if (field == nullptr) {
      return error(Code::kUnsupported, "attribute field %u is unknown to this build's %s",
                   a.field(), info.name);
    }
    auto bit = uint64_t{1} << (field - info.attrs->fields.data());
    if ((seen & bit) != 0)
      return error(Code::kInvalidProgram, "attribute %s is given twice", field->name);
    seen |= bit;
    if (static_cast<int>(a.kind()) != static_cast<int>(field->kind)) {
      return error(Code::kInvalidProgram, "attribute %s has kind %d, not %d", field->name,
                   static_cast<int>(a.kind()), static_cast<int>(field->kind));
    }
    switch (field->kind) {  // from this build's own tables, not the file: GCOVR_EXCL_BR_LINE
      case AttrKind::kInt: attr_int(*field, attrs) = a.i(); break;
      case AttrKind::kFloat: attr_float(*field, attrs) = a.f(); break;
      case AttrKind::kInts:
        WICK_TRY(check_aligned(a.ints()));
        if (!set_attr_ints(*field, attrs, in_place(a.ints()))) {
          return error(Code::kInvalidProgram, "attribute %s has %u entries, at most %u",
                       field->name, count(a.ints()), field->capacity);
        }
        break;
      case AttrKind::kText:
        if (!set_attr_text(*field, attrs, text(a.s()), count(a.s()))) {
          return error(Code::kInvalidProgram, "attribute %s has %u characters, at most %u",
                       field->name, count(a.s()), field->capacity);
        }
        break;
    }
  }
  return {};
}

Status ProgramReader::read_node(const fbs::Node& node, NodeDef* def) {
  def->op = static_cast<OpId>(node.op());
  def->inputs = in_place(node.inputs());
  def->outputs = in_place(node.outputs());
  const OpInfo* info = nullptr;
  if (is_custom(def->op)) {  // declared: checked by refuse_unknown_ops
    const CustomOpDef& custom = p_.custom_ops_[node.op() - kFirstCustomOp];
    if (custom.op == nullptr) return {};  // its library will read its attributes
    def->custom = custom.op;
    info = custom.info;
  } else {
    info = find_op(def->op);  // known: checked by refuse_unknown_ops
  }
  def->info = info;
  size_t in = def->inputs.size(), out = def->outputs.size();
  if (in < info->min_inputs || (info->max_inputs != 255 && in > info->max_inputs) || in > 65535) {
    return error(Code::kInvalidProgram, "takes %d to %d inputs, has %zu", info->min_inputs,
                 info->max_inputs, in);
  }
  if (out == 0 || (info->outputs != 255 && out != info->outputs) || out > 65535) {
    return error(Code::kInvalidProgram, "has %zu outputs, should have %d", out, info->outputs);
  }
  for (size_t i = 0; i < info->min_inputs; ++i) {
    if (def->inputs[i] == kNoIndex) return error(Code::kInvalidProgram, "input %zu is required", i);
  }
  WICK_ASSIGN(void* attrs, p_.arena_.allocate(info->attrs->size, 8));
  WICK_TRY(read_attrs(node, *info, attrs));
  if (Status s = check_attrs(*info, attrs, in); !s.ok())
    return error(Code::kInvalidProgram, "%s", s.message());
  def->attrs = attrs;
  return {};
}

const char* ProgramReader::name_of(const fbs::Node& node) const {
  auto id = static_cast<OpId>(node.op());
  return is_custom(id) ? p_.custom_ops_[node.op() - kFirstCustomOp].name : find_op(id)->name;
}

// Error texts name nodes: one without a name gets that of its first output, or its number.
Status ProgramReader::name_by_output(const EntryDef& entry, uint32_t number, NodeDef* def) {
  if (!def->outputs.empty()) def->name = entry.values[def->outputs[0]].name;
  if (def->name[0] != '\0') return {};
  WICK_ASSIGN(auto made, p_.arena_.array<char>(12));
  part_of_text(made.data(), made.size(), "#%u", number);
  def->name = made.data();
  return {};
}

// Lists a control node's regions; each must be given exactly once.
Status ProgramReader::list_regions(const fbs::Node& node, NodeDef* def) {
  auto wanted = static_cast<size_t>(region_count(def->op));
  WICK_ASSIGN(auto list, p_.arena_.array<uint32_t>(wanted));
  for (uint32_t& r : list) r = kNoIndex;
  for (uint32_t i = 0; i < count(node.attrs()); ++i) {
    const fbs::Attr& a = *node.attrs()->Get(i);
    if (a.kind() != fbs::AttrKind::Region) continue;
    size_t k = static_cast<size_t>(a.field()) - kRegionField;
    if (a.field() < kRegionField || k >= wanted)
      return error(Code::kInvalidProgram, "it has no region %u", a.field());
    if (list[k] != kNoIndex) return error(Code::kInvalidProgram, "region %zu is given twice", k);
    if (a.i() < 0 || a.i() >= kNoIndex)
      return error(Code::kInvalidProgram, "there is no region %lld", static_cast<long long>(a.i()));
    list[k] = static_cast<uint32_t>(a.i());
  }
  for (size_t k = 0; k < wanted; ++k) {
    if (list[k] == kNoIndex) return error(Code::kInvalidProgram, "region %zu is missing", k);
  }
  def->regions = list;
  return {};
}

// Checks counts and dtypes of the inputs and outputs of a control node's regions.
Status ProgramReader::check_control(const EntryDef& entry, const NodeDef& node) {
  bool loop = node.op == OpId::kLoop;
  size_t in = node.inputs.size(), out = node.outputs.size(), carried = 0;
  for (uint32_t v : node.inputs) {
    if (v == kNoIndex) return Status(Code::kInvalidProgram, "an input is absent");
  }
  auto dtype = [&](uint32_t v) { return entry.values[v].dtype; };
  auto same = [&](uint32_t a, uint32_t b, const char* what, size_t i) -> Status {
    if (dtype(a) == dtype(b) && entry.values[a].kind == entry.values[b].kind &&
        entry.values[a].element == entry.values[b].element)
      return {};
    return error(Code::kInvalidProgram, "%s %zu is %s on one side and %s on the other", what, i,
                 dtype_name(dtype(a)), dtype_name(dtype(b)));
  };
  if (dtype(node.inputs[loop ? 1 : 0]) != DType::kBool ||
      (loop && dtype(node.inputs[0]) != DType::kI64)) {
    return Status(Code::kInvalidProgram, "its condition must be bool, its trips int64");
  }
  if (loop) {
    int64_t given = static_cast<const LoopAttrs*>(node.attrs)->carried;
    if (given < 0 || static_cast<uint64_t>(given) > in - 2 || static_cast<uint64_t>(given) > out)
      return error(Code::kInvalidProgram, "it cannot carry %lld values",
                   static_cast<long long>(given));
    carried = static_cast<size_t>(given);
  }
  for (uint32_t index : node.regions) {
    const RegionDef& r = entry.regions[index];
    if (r.inputs.size() != in - (loop ? 0 : 1) || r.outputs.size() != out + (loop ? 1 : 0)) {
      return error(Code::kInvalidProgram,
                   "region %u has %zu inputs and %zu outputs, which do not fit", index,
                   r.inputs.size(), r.outputs.size());
    }
    for (size_t i = 0; i < r.inputs.size(); ++i)
      WICK_TRY(same(r.inputs[i], node.inputs[i + (loop ? 0 : 1)], "region input", i));
    for (size_t i = 0; i < out; ++i)
      WICK_TRY(same(r.outputs[i + (loop ? 1 : 0)], node.outputs[i], "region output", i));
    if (loop && dtype(r.outputs[0]) != DType::kBool)
      return Status(Code::kInvalidProgram, "a trip's condition must be bool");
    for (size_t i = 0; i < carried; ++i)
      WICK_TRY(same(r.outputs[1 + i], r.inputs[2 + i], "carried value", i));
    for (size_t i = carried; loop && i < out; ++i) {
      if (entry.values[node.outputs[i]].kind != ValueKind::kTensor)
        return error(Code::kInvalidProgram, "output %zu stacks what is no tensor", i);
    }
  }
  return {};
}

// Bodies of control flow are read at their node. The bodies of If and Loop may use constants and
// values defined in the body; those of a custom op also values defined before the node.
Status ProgramReader::read_region(const fbs::Entry& entry, int64_t number, int depth, EntryDef* def,
                                  Span<uint8_t> defined, Span<uint8_t> region_seen,
                                  Span<uint32_t> owner, bool closed) {
  if (number < 0 || number >= count(entry.regions()))
    return error(Code::kInvalidProgram, "there is no region %lld", static_cast<long long>(number));
  const auto index = static_cast<uint32_t>(number);
  if (region_seen[index] != 0)
    return error(Code::kInvalidProgram, "region %u is used twice", index);
  if (depth > kMaxRegionDepth)
    return error(Code::kInvalidProgram, "regions nest deeper than %d", kMaxRegionDepth);
  region_seen[index] = 1;
  const fbs::Region& region = *entry.regions()->Get(index);
  auto& out = const_cast<RegionDef&>(def->regions[index]);
  out.inputs = in_place(region.inputs());
  out.outputs = in_place(region.outputs());

  auto define = [&](uint32_t id, const char* what, size_t i) -> Status {
    if (id >= defined.size())
      return error(Code::kInvalidProgram, "%s %zu: there is no value %u", what, i, id);
    if (defined[id] != 0)
      return error(Code::kInvalidProgram, "%s %zu: value %u is defined twice", what, i, id);
    defined[id] = 1;
    owner[id] = index;
    return {};
  };
  auto use = [&](uint32_t id, const char* what, size_t i) -> Status {
    if (id >= defined.size())
      return error(Code::kInvalidProgram, "%s %zu: there is no value %u", what, i, id);
    if (defined[id] == 0)
      return error(Code::kInvalidProgram, "%s %zu: value %u is used before it is defined", what, i,
                   id);
    if (defined[id] == 2 || (closed && owner[id] != index && owner[id] != kNoIndex)) {
      return error(Code::kInvalidProgram, "%s %zu: value %u belongs to another region", what, i,
                   id);
    }
    return {};
  };
  for (size_t i = 0; i < out.inputs.size(); ++i) WICK_TRY(define(out.inputs[i], "region input", i));
  WICK_ASSIGN(auto nodes, p_.arena_.array<NodeDef>(count(region.nodes())));
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    const fbs::Node& node = *region.nodes()->Get(n);
    NodeDef& to = nodes[n];
    to.name = text(node.name());
    auto read_one = [&]() -> Status {
      WICK_TRY(read_node(node, &to));
      for (size_t i = 0; i < to.inputs.size(); ++i) {
        if (to.inputs[i] != kNoIndex) WICK_TRY(use(to.inputs[i], "input", i));
      }
      bool control = region_count(to.op) > 0;
      if (control) WICK_TRY(list_regions(node, &to));
      for (uint32_t a = 0; a < count(node.attrs()); ++a) {
        const fbs::Attr& attr = *node.attrs()->Get(a);
        if (attr.kind() != fbs::AttrKind::Region) continue;
        WICK_TRY(need_feature(kFeatureRegions, "nested regions"));
        WICK_TRY(
            read_region(entry, attr.i(), depth + 1, def, defined, region_seen, owner, control));
      }
      for (size_t i = 0; i < to.outputs.size(); ++i) WICK_TRY(define(to.outputs[i], "output", i));
      if (control) WICK_TRY(check_control(*def, to));
      return {};
    };
    WICK_TRY(annotate(read_one(), "node %u (%.40s, %s): ", n, to.name, name_of(node)));
    if (to.name[0] == '\0') WICK_TRY(name_by_output(*def, n, &to));
  }
  for (size_t i = 0; i < out.outputs.size(); ++i) WICK_TRY(use(out.outputs[i], "region output", i));
  out.nodes = nodes;
  if (depth > 0) {  // values of a nested region are not visible outside
    for (uint32_t id : out.inputs) defined[id] = 2;
    for (const NodeDef& node : nodes) {
      for (uint32_t id : node.outputs) defined[id] = 2;
    }
  }
  return {};
}

Status ProgramReader::check_ports(const EntryDef& entry, Span<const uint32_t> ids,
                                  const char* what) {
  // Inputs and outputs are looked up by name in a linear search, so their number is limited.
  if (ids.size() > 4096)
    return error(Code::kInvalidProgram, "%zu %ss, at most 4096", ids.size(), what);
  Array<Name> names(*p_.allocator_);
  for (size_t i = 0; i < ids.size(); ++i) {
    const char* name = entry.values[ids[i]].name;
    if (name[0] == '\0') return error(Code::kInvalidProgram, "%s %zu has no name", what, i);
    WICK_TRY(names.push_back({name}));
  }
  const Name* twice = nullptr;
  WICK_TRY(find_twice(names, &twice));
  if (twice == nullptr) return {};
  return error(Code::kInvalidProgram, "two %ss are named %.60s", what, twice->first);
}

Status ProgramReader::read_entry(const fbs::Entry& table, EntryDef* entry) {
  entry->name = text(table.name());
  entry->growing = table.growing();
  if (entry->growing) WICK_TRY(need_feature(kFeatureGrowing, "unbounded sizes"));
  if (count(table.regions()) == 0) return Status(Code::kInvalidProgram, "it has no body");
  WICK_ASSIGN(auto values, p_.arena_.array<ValueDef>(count(table.values())));
  for (uint32_t i = 0; i < values.size(); ++i) {
    const fbs::Value& v = *table.values()->Get(i);
    WICK_TRY(annotate(read_value(v, &values[i]), "value %u (%.40s): ", i, text(v.name())));
  }
  entry->values = values;
  WICK_ASSIGN(auto regions, p_.arena_.array<RegionDef>(count(table.regions())));
  entry->regions = regions;
  WICK_ASSIGN(auto defined, p_.arena_.array<uint8_t>(values.size()));
  WICK_ASSIGN(auto region_seen, p_.arena_.array<uint8_t>(regions.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    defined[i] = values[i].constant != kNoIndex || values[i].state != kNoIndex ? 1 : 0;
  }
  WICK_ASSIGN(auto owner, p_.arena_.array<uint32_t>(values.size()));
  for (uint32_t& region : owner) region = kNoIndex;
  WICK_TRY(read_region(table, 0, 0, entry, defined, region_seen, owner, false));
  for (size_t i = 0; i < regions.size(); ++i) {
    if (region_seen[i] == 0) return error(Code::kInvalidProgram, "no node uses region %zu", i);
  }
  WICK_TRY(check_ports(*entry, entry->body().inputs, "input"));
  WICK_TRY(check_ports(*entry, entry->body().outputs, "output"));
  return read_updates(table, defined, entry);
}

// A state is written once, by a value of the body with its type and, as far as the file says them,
// its sizes.
Status ProgramReader::read_updates(const fbs::Entry& table, Span<const uint8_t> defined,
                                   EntryDef* entry) {
  const uint32_t n = count(table.state_updates());
  if (n == 0) return {};
  WICK_ASSIGN(auto updates, p_.arena_.array<StateUpdateDef>(n));
  Array<uint8_t> written(*p_.allocator_);
  WICK_TRY(written.resize(p_.states_.size()));
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t state = table.state_updates()->Get(i)->state(),
                   value = table.state_updates()->Get(i)->value();
    updates[i] = {state, value};
    if (state >= p_.states_.size() || value >= entry->values.size() || defined[value] != 1)
      return error(Code::kInvalidProgram, "state update %u is not sound", i);
    const StateDef& to = p_.states_[state];
    const ValueDef& from = entry->values[value];
    if (written[state] != 0)
      return error(Code::kInvalidProgram, "two values become state %.60s", to.name);
    written[state] = 1;
    bool fits = from.dtype == to.dtype && (from.unranked || from.dims.size() == to.dims.size());
    for (size_t d = 0; fits && !from.unranked && d < to.dims.size(); ++d) {
      const DimDef &a = from.dims[d], &b = to.dims[d];
      fits = a.symbol >= 0 || b.symbol >= 0 || a.value == b.value;
    }
    if (!fits) {
      return error(Code::kInvalidProgram,
                   "value %.60s, which becomes state %.60s, has another type or other sizes",
                   from.name, to.name);
    }
  }
  entry->state_updates = updates;
  return {};
}

}  // namespace wick
