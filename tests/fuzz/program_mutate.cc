// The changes to a whole program.
#include <algorithm>

#include "runtime/ops/op_info.h"
#include "runtime/program/layout.h"
#include "tests/fuzz/op_case.h"
#include "tests/fuzz/program_text.h"

namespace wick::fuzz {
namespace {

// One program under change; lists may be empty, and then nothing is done.
struct Changed {
  ProgramText& p;
  Dice& dice;
  fbs::EntryT& e;

  fbs::RegionT* region() {
    return e.regions.empty() ? nullptr
           : dice.one_in(2)  ? e.regions[0].get()
                             : dice.of(e.regions).get();
  }
  fbs::NodeT* node() {
    fbs::RegionT* r = region();
    return r == nullptr || r->nodes.empty() ? nullptr : dice.of(r->nodes).get();
  }
  fbs::ValueT* value() { return e.values.empty() ? nullptr : dice.of(e.values).get(); }
  fbs::ConstantT* constant() {
    return p.table.constants.empty() ? nullptr : dice.of(p.table.constants).get();
  }
  uint32_t id() {
    return dice.one_in(30) ? kNoIndex
                           : static_cast<uint32_t>(dice.below(e.values.size() + dice.one_in(40)));
  }
};

void rewire(Changed& c) {
  fbs::NodeT* n = c.node();
  if (n == nullptr || n->inputs.empty()) return;
  c.dice.of(n->inputs) = c.id();
}
// Rewires to a value of the same declared dtype: more of these load and run.
void rewire_alike(Changed& c) {
  fbs::NodeT* n = c.node();
  if (n == nullptr || n->inputs.empty()) return;
  uint32_t& in = c.dice.of(n->inputs);
  if (in >= c.e.values.size()) return;
  for (int k = 0; k < 8; ++k) {
    const uint32_t other = c.id();
    if (other >= c.e.values.size() || c.e.values[other]->dtype != c.e.values[in]->dtype) continue;
    in = other;
    return;
  }
}
void outputs(Changed& c) {
  fbs::NodeT* n = c.node();
  if (n == nullptr) return;
  if (c.dice.one_in(3) || n->outputs.empty())
    n->outputs.push_back(c.id());
  else if (c.dice.one_in(2))
    n->outputs.pop_back();
  else
    c.dice.of(n->outputs) = c.id();
}
void order(Changed& c) {
  fbs::RegionT* r = c.region();
  if (r == nullptr || r->nodes.size() < 2) return;
  std::swap(c.dice.of(r->nodes), c.dice.of(r->nodes));
}
// The same call again, with an output of its own or the same one.
void twice(Changed& c) {
  fbs::RegionT* r = c.region();
  if (r == nullptr || r->nodes.empty() || r->nodes.size() > 40) return;
  auto copy = std::make_unique<fbs::NodeT>();
  fbs::NodeT& from = *c.dice.of(r->nodes);
  copy->op = from.op;
  copy->version = from.version;
  copy->name = from.name;
  copy->inputs = from.inputs;
  copy->outputs = from.outputs;
  for (const auto& a : from.attrs) copy->attrs.push_back(std::make_unique<fbs::AttrT>(*a));
  if (!c.dice.one_in(4)) {
    for (uint32_t& out : copy->outputs) {
      if (out >= c.e.values.size()) continue;
      auto v = std::make_unique<fbs::ValueT>();
      const fbs::ValueT& like = *c.e.values[out];
      v->name = like.name + "'";
      v->kind = like.kind;
      v->dtype = like.dtype;
      v->unranked = like.unranked;
      v->dims = like.dims;
      c.e.values.push_back(std::move(v));
      out = static_cast<uint32_t>(c.e.values.size() - 1);
      r->outputs.push_back(out);
    }
  }
  r->nodes.push_back(std::move(copy));
}
void without(Changed& c) {
  fbs::RegionT* r = c.region();
  if (r == nullptr || r->nodes.empty()) return;
  r->nodes.erase(r->nodes.begin() + c.dice.below(static_cast<int>(r->nodes.size())));
}
void other_op(Changed& c) {
  fbs::NodeT* n = c.node();
  if (n == nullptr) return;
  const auto ops = all_ops();
  n->op = static_cast<uint16_t>(ops[c.dice.below(ops.size())].id);
  if (c.dice.one_in(10)) n->op = static_cast<uint16_t>(0x8000 + c.dice.below(3));
  if (c.dice.one_in(2)) n->attrs.clear();
}
// An op that takes as many, in its place.
void alike_op(Changed& c) {
  fbs::NodeT* n = c.node();
  if (n == nullptr) return;
  const OpInfo* old = find_op(static_cast<OpId>(n->op));
  if (old == nullptr) return;
  const auto ops = all_ops();
  for (int k = 0; k < 30; ++k) {
    const OpInfo& op = ops[c.dice.below(ops.size())];
    if (op.attrs != old->attrs || op.outputs != old->outputs || op.min_inputs != old->min_inputs)
      continue;
    n->op = static_cast<uint16_t>(op.id);
    return;
  }
}
void attribute(Changed& c) {
  fbs::NodeT* n = c.node();
  if (n == nullptr) return;
  const OpInfo* op = find_op(static_cast<OpId>(n->op));
  if (n->attrs.empty() || (c.dice.one_in(3) && op != nullptr && !op->attrs->fields.empty())) {
    if (op == nullptr || op->attrs->fields.empty()) return;
    const AttrField& f = op->attrs->fields[c.dice.below(op->attrs->fields.size())];
    for (const auto& a : n->attrs) {
      if (a->field == f.id) return;
    }
    auto a = std::make_unique<fbs::AttrT>();
    a->field = f.id;
    a->kind = static_cast<fbs::AttrKind>(f.kind);
    n->attrs.push_back(std::move(a));
  }
  fbs::AttrT& a = *c.dice.of(n->attrs);
  const auto number = [&] { return c.dice.one_in(3) ? hostile_int(c.dice) : c.dice.below(9) - 2; };
  a.i = number();
  a.f = hostile_real(c.dice);
  if (a.kind == fbs::AttrKind::Ints) {
    if (a.ints.empty() || c.dice.one_in(4)) a.ints.resize(c.dice.below(size_t{9}), number());
    if (!a.ints.empty()) c.dice.of(a.ints) = number();
  }
  if (c.dice.one_in(40)) a.kind = static_cast<fbs::AttrKind>(c.dice.below(8));
  if (c.dice.one_in(40)) a.field = static_cast<uint16_t>(c.dice.below(12));
}
void dtype(Changed& c) {
  if (fbs::ValueT* v = c.value(); v != nullptr)
    v->dtype = static_cast<uint8_t>(c.dice.below(kDTypeCount + (c.dice.one_in(20) ? 60 : 0)));
}
void kind(Changed& c) {
  if (fbs::ValueT* v = c.value(); v != nullptr)
    v->kind = static_cast<fbs::ValueKind>(c.dice.below(6));
}
void dims(Changed& c) {
  fbs::ValueT* v = c.value();
  if (v == nullptr) return;
  const auto dim = [&] {
    const auto symbols = c.p.table.symbols.size();
    return c.dice.one_in(2)
               ? fbs::Dim(c.dice.one_in(6) ? hostile_int(c.dice) : c.dice.below(6), 0, 0)
               : fbs::Dim(0, static_cast<uint32_t>(c.dice.below(symbols + 1)), 0);
  };
  switch (c.dice.below(4)) {
    case 0: v->dims.push_back(dim()); break;
    case 1:
      if (!v->dims.empty()) v->dims.pop_back();
      break;
    default:
      if (!v->dims.empty()) c.dice.of(v->dims) = dim();
  }
}
void unranked(Changed& c) {
  fbs::ValueT* v = c.value();
  if (v == nullptr || v->constant != kNoIndex) return;
  v->unranked = true;
  v->dims.clear();
}
void all_unranked(Changed& c) {
  for (auto& v : c.e.values) {
    if (v->constant != kNoIndex || v->state != kNoIndex) continue;
    v->unranked = true;
    v->dims.clear();
  }
}
// A value that is a constant or a state has its type.
void take_type(fbs::ValueT& v, uint8_t dtype, const std::vector<int64_t>& dims) {
  v.kind = fbs::ValueKind::Tensor;
  v.dtype = dtype;
  v.unranked = false;
  v.dims.clear();
  for (int64_t d : dims) v.dims.emplace_back(d, 0, 0);
}
void which_constant(Changed& c) {
  fbs::ValueT* v = c.value();
  if (v == nullptr) return;
  v->constant = c.dice.one_in(3)
                    ? kNoIndex
                    : static_cast<uint32_t>(c.dice.below(c.p.table.constants.size() + 1));
  if (v->constant >= c.p.table.constants.size() || c.dice.one_in(8)) return;
  const fbs::ConstantT& k = *c.p.table.constants[v->constant];
  take_type(*v, k.dtype, k.dims);
}
void constant_bytes(Changed& c) {
  const fbs::ConstantT* k = c.constant();
  if (k == nullptr || !k->raw || c.p.segment.empty()) return;
  const size_t bytes = std::min<uint64_t>(k->raw->bytes, 256);
  const uint64_t at = k->raw->offset;
  if (bytes == 0 || at > c.p.segment.size() || bytes > c.p.segment.size() - at) return;
  OpInput one;
  one.dtype = static_cast<DType>(k->dtype < kDTypeCount ? k->dtype : 2);
  if (one.dtype == DType::kString || one.dtype == DType::kNone) one.dtype = DType::kU8;
  one.shape = {64};
  const bool small = c.dice.one_in(2);
  for (int i = 0; i < 3; ++i) {
    one.values.push_back(small                 ? c.dice.below(9) - 3
                         : is_float(one.dtype) ? hostile_real(c.dice)
                                               : static_cast<double>(hostile_int(c.dice)));
  }
  const std::vector<uint8_t> made = bytes_of(one);
  const size_t n = std::min(made.size(), c.dice.one_in(2) ? bytes : std::min<size_t>(bytes, 8));
  std::copy_n(made.begin(), n, c.p.segment.begin() + static_cast<int64_t>(at));
}
void constant_type(Changed& c) {
  fbs::ConstantT* k = c.constant();
  if (k == nullptr) return;
  if (c.dice.one_in(2))
    k->dtype = static_cast<uint8_t>(c.dice.below(kDTypeCount));
  else if (!k->dims.empty())
    c.dice.of(k->dims) = c.dice.one_in(4) ? hostile_int(c.dice) : c.dice.below(9);
  else
    k->dims.push_back(1);
  int64_t elements = 1;
  for (int64_t d : k->dims) {
    if (d < 0 || d > 4096 || (elements *= d) > 1 << 20) return;
  }
  // Uses enough bytes if the segment has them.
  const auto bits = static_cast<uint64_t>(dtype_bits(static_cast<DType>(k->dtype)));
  const uint64_t bytes = (static_cast<uint64_t>(elements) * bits + 7) / 8;
  if (k->raw && k->raw->offset <= c.p.segment.size() &&
      bytes <= c.p.segment.size() - k->raw->offset)
    k->raw->bytes = bytes;
  for (auto& v : c.e.values) {
    if (v->constant < c.p.table.constants.size() && c.p.table.constants[v->constant].get() == k)
      take_type(*v, k->dtype, k->dims);
  }
}
// A packed form holds only numbers: any bytes of the right size must do.
void packed_form(Changed& c) {
  fbs::ConstantT* k = c.constant();
  if (k == nullptr || !k->raw) return;
  auto form = std::make_unique<fbs::BufferT>();
  form->layout = static_cast<uint32_t>(c.dice.below(24));
  const uint64_t sizes[] = {
      k->raw->bytes, align_up(k->raw->bytes, 64), k->raw->bytes * 2, 64, 256, 1024, 4096};
  form->bytes = c.dice.of(sizes);
  c.p.segment.resize(align_up(c.p.segment.size(), kSegmentAlignment));
  form->offset = c.dice.one_in(20) ? k->raw->offset : c.p.segment.size();
  if (form->bytes > 1 << 16) return;
  c.p.segment.resize(c.p.segment.size() + form->bytes, static_cast<uint8_t>(c.dice.next()));
  if (!c.p.table.segments.empty()) {
    c.p.table.segments[0]->bytes = c.p.segment.size();
    c.p.table.segments[0]->sha256.clear();
  }
  k->packed.push_back(std::move(form));
}
void buffer(Changed& c) {
  if (!c.dice.one_in(4)) return;
  fbs::ConstantT* k = c.constant();
  if (k == nullptr || !k->raw) return;
  if (c.dice.one_in(2))
    k->raw->offset += static_cast<uint64_t>((c.dice.below(5) - 2) * 64);
  else
    k->raw->bytes += static_cast<uint64_t>(c.dice.below(5) - 2);
}
void region_ports(Changed& c) {
  fbs::RegionT* r = c.region();
  if (r == nullptr) return;
  auto& list = c.dice.one_in(2) ? r->inputs : r->outputs;
  switch (c.dice.below(3)) {
    case 0: list.push_back(c.id()); break;
    case 1:
      if (!list.empty()) list.pop_back();
      break;
    default:
      if (!list.empty()) c.dice.of(list) = c.id();
  }
}
// A node into another region, or under another of the same values.
void across_regions(Changed& c) {
  if (c.e.regions.size() < 2) return;
  fbs::RegionT *from = c.region(), *to = c.region();
  if (from == to || from->nodes.empty()) return;
  to->nodes.push_back(std::move(from->nodes.back()));
  from->nodes.pop_back();
}
void region_of(Changed& c) {
  fbs::NodeT* n = c.node();
  if (n == nullptr) return;
  for (auto& a : n->attrs) {
    if (a->kind == fbs::AttrKind::Region)
      a->i = static_cast<int64_t>(c.dice.below(c.e.regions.size() + 1));
  }
}
void symbol(Changed& c) {
  if (c.p.table.symbols.empty()) return;
  auto& s = *c.dice.of(c.p.table.symbols);
  s.min = c.dice.one_in(2) ? hostile_int(c.dice) : c.dice.below(4);
  if (c.dice.one_in(2)) s.max = c.dice.one_in(2) ? hostile_int(c.dice) : c.dice.below(40);
}
void state(Changed& c) {
  if (c.p.table.states.empty() || c.dice.one_in(3)) {
    auto s = std::make_unique<fbs::StateT>();
    s->name = "state" + std::to_string(c.p.table.states.size());
    s->dtype = static_cast<uint8_t>(c.dice.one_in(2) ? 1 : c.dice.below(kDTypeCount));
    s->dims = {c.dice.below(5)};
    c.p.table.states.push_back(std::move(s));
    c.p.features |= kFeatureState;
  }
  const auto which = static_cast<uint32_t>(c.dice.below(c.p.table.states.size()));
  const fbs::StateT& s = *c.p.table.states[which];
  if (fbs::ValueT* v = c.value(); v != nullptr && c.dice.one_in(2)) {
    v->state = which;
    if (!c.dice.one_in(8)) take_type(*v, s.dtype, s.dims);
  }
  if (c.dice.one_in(2)) c.e.state_updates.emplace_back(which, c.id());
}
void quantization(Changed& c) {
  fbs::ValueT* v = c.value();
  if (v == nullptr) return;
  v->quantization = std::make_unique<fbs::QuantizationT>();
  v->quantization->scales.resize(c.dice.below(size_t{4}), static_cast<float>(hostile_real(c.dice)));
  v->quantization->zero_points.resize(c.dice.below(size_t{4}), hostile_int(c.dice));
  v->quantization->axis = c.dice.below(6) - 2;
  v->quantization->block = static_cast<uint32_t>(c.dice.below(5));
}
// Changes the names, and the number, of users' own ops in a file.
void custom_ops(Changed& c) {
  auto& list = c.p.table.custom_ops;
  if (list.empty() || c.dice.one_in(3)) {
    auto op = std::make_unique<fbs::CustomOpT>();
    op->domain = c.dice.one_in(4) ? "" : "my";
    op->name = c.dice.one_in(2) ? "Loop" : "Other";
    list.push_back(std::move(op));
  } else {
    fbs::CustomOpT& op = *c.dice.of(list);
    const char* const names[] = {"my", "Loop", "Other", "", "a::b", "\x1B[31m", "%s"};
    if (c.dice.one_in(3)) op.domain = c.dice.of(names);
    if (c.dice.one_in(3)) op.name = c.dice.of(names);
    op.version = c.dice.one_in(2) ? static_cast<uint32_t>(c.dice.below(4)) : UINT32_MAX;
    if (c.dice.one_in(30)) op.name.assign(4000, 'x');
  }
  fbs::NodeT* n = c.node();
  if (n == nullptr || c.dice.one_in(3)) return;
  n->op = static_cast<uint16_t>(0x8000 + c.dice.below(list.size() + c.dice.one_in(20)));
  if (c.dice.one_in(2)) n->attrs.clear();
  if (c.e.regions.size() > 1 && c.dice.one_in(2)) {
    auto a = std::make_unique<fbs::AttrT>();
    a->field = static_cast<uint16_t>(c.dice.below(4));
    a->kind = fbs::AttrKind::Region;
    a->i = static_cast<int64_t>(c.dice.below(c.e.regions.size()));
    n->attrs.push_back(std::move(a));
  }
}
void features(Changed& c) {
  if (c.dice.one_in(6)) c.p.features ^= uint64_t{1} << c.dice.below(8);
}
void growing(Changed& c) { c.e.growing = !c.e.growing; }

}  // namespace

void mutate(ProgramText& p, Dice& dice) {
  static constexpr void (*kChanges[])(Changed&) = {
      rewire,         rewire_alike,  rewire_alike, rewire_alike, outputs,        order,
      twice,          twice,         without,      other_op,     alike_op,       alike_op,
      attribute,      attribute,     attribute,    dtype,        kind,           dims,
      dims,           unranked,      unranked,     all_unranked, which_constant, constant_bytes,
      constant_bytes, constant_type, packed_form,  packed_form,  buffer,         region_ports,
      across_regions, region_of,     symbol,       state,        quantization,   features,
      growing,        custom_ops};
  if (p.table.entries.empty()) return;
  // A file may declare more than it uses.
  p.features |= kKnownFeatures & ~uint64_t{kFeatureLent};
  Changed c{p, dice, *dice.of(p.table.entries)};
  for (int k = dice.below(3) + (dice.one_in(4) ? dice.below(6) : 0); k >= 0; --k)
    dice.of(kChanges)(c);
}

}  // namespace wick::fuzz
