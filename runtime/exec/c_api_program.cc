// The C ABI of wick/c/program.h: what a program says of itself.
#include "wick/c/program.h"

#include "runtime/exec/c_handles.h"

using namespace wick;         // NOLINT: this file only translates
using namespace wick::c_api;  // NOLINT

namespace {

// Fills the caller's struct with item i of a list of the program's. `list` takes the Program and
// returns the list; `put` takes the Program, the item and an empty struct.
template <class T, class List, class Put>
int tell(const wick_program* p, size_t i, T* to, const char* name, const List& list,
         const Put& put) {
  auto fill = [&]() -> Status {
    WICK_TRY(check_pointer(p, "program"));
    WICK_TRY(check_pointer(to, name));
    const auto all = list(*p->program);
    if (i >= all.size())
      return error(Code::kInvalidArgument, "there is no %s %zu of %zu", name, i, all.size());
    T full = {};
    put(*p->program, all[i], &full);
    return write_struct(full, to, name);
  };
  return fail(fill(), log_for(p));
}

// Returns the entry point; null: the program is null, or has no such one.
const EntryDef* entry_of(const wick_program* p, size_t entry) {
  return entry < wick_program_entry_count(p) ? &p->program->entries()[entry] : nullptr;
}
const RegionDef* region_of(const wick_program* p, size_t entry, size_t region) {
  const EntryDef* e = entry_of(p, entry);
  return e != nullptr && region < e->regions.size() ? &e->regions[region] : nullptr;
}
Status check_entry(const wick_program* p, size_t entry) {
  WICK_TRY(check_pointer(p, "program"));
  if (entry_of(p, entry) != nullptr) return {};
  return error(Code::kInvalidArgument, "there is no entry point %zu", entry);
}

int64_t index_of(uint32_t i) { return i == kNoIndex ? -1 : static_cast<int64_t>(i); }

void put_packed(uint32_t constant, const PackedDef& from, wick_packed_form* to) {
  to->constant = constant;
  to->layout = from.layout;
  to->data = from.data;
  to->bytes = from.bytes;
}

void put_value(const Program& program, const ValueDef& from, wick_value* to) {
  fill_port(program, from.name, from.dtype, from.unranked, from.dims, &to->port);
  to->element = static_cast<int32_t>(from.element);
  to->constant = index_of(from.constant);
  to->state = index_of(from.state);
  to->quant_axis = -1;
  if (from.quant == nullptr) return;
  to->quant_axis = from.quant->axis;
  to->quant_block = from.quant->block;
  to->scales = from.quant->scales.data();
  to->scale_count = from.quant->scales.size();
  to->zero_points = from.quant->zero_points.empty() ? nullptr : from.quant->zero_points.data();
}

void put_node(const Program& program, const NodeDef& from, wick_node* to) {
  const auto custom = static_cast<size_t>(from.op) - kFirstCustomOp;
  to->op = is_custom(from.op) ? program.custom_ops()[custom].name : from.info->name;
  to->name = from.name;
  to->inputs = from.inputs.data();
  to->input_count = from.inputs.size();
  to->outputs = from.outputs.data();
  to->output_count = from.outputs.size();
  to->regions = from.regions.data();
  to->region_count = from.regions.size();
}

}  // namespace

int wick_program_find_entry(const wick_program* p, const char* name) {
  if (p == nullptr) return -1;
  const EntryDef* found = p->program->find_entry(name);
  return found == nullptr ? -1 : static_cast<int>(found - p->program->entries().data());
}

size_t wick_program_symbol_count(const wick_program* p) {
  return p == nullptr ? 0 : p->program->symbols().size();
}
int wick_program_symbol(const wick_program* p, size_t i, wick_symbol* symbol) {
  return tell(
      p, i, symbol, "symbol", [](const Program& program) { return program.symbols(); },
      [](const Program&, const SymbolDef& from, wick_symbol* to) {
        to->name = from.name;
        to->min = from.min;
        to->max = from.max;
      });
}

size_t wick_program_metadata_count(const wick_program* p) {
  return p == nullptr ? 0 : p->program->metadata().size();
}
int wick_program_metadata_entry(const wick_program* p, size_t i, const char** key,
                                const char** value) {
  auto fill = [&]() -> Status {
    WICK_TRY(check_pointer(p, "program"));
    WICK_TRY(check_pointer(key, "key"));
    WICK_TRY(check_pointer(value, "value"));
    const auto all = p->program->metadata();
    if (i >= all.size())
      return error(Code::kInvalidArgument, "there is no metadata entry %zu of %zu", i, all.size());
    *key = all[i].key;
    *value = all[i].value;
    return {};
  };
  return fail(fill(), log_for(p));
}

int wick_program_provenance(const wick_program* p, wick_provenance* provenance) {
  auto fill = [&]() -> Status {
    WICK_TRY(check_pointer(p, "program"));
    WICK_TRY(check_pointer(provenance, "provenance"));
    const ProvenanceDef& from = p->program->provenance();
    wick_provenance full = {};
    full.wick_version = from.wick_version;
    full.source = from.source;
    full.weights_sha256 = from.weights_sha256.empty() ? nullptr : from.weights_sha256.data();
    full.seed = from.seed;
    full.numerics = static_cast<int>(from.numerics);
    return write_struct(full, provenance, "provenance");
  };
  return fail(fill(), log_for(p));
}
int wick_program_get_facts(const wick_program* p, wick_program_facts* facts) {
  auto fill = [&]() -> Status {
    WICK_TRY(check_pointer(p, "program"));
    WICK_TRY(check_pointer(facts, "facts"));
    wick_program_facts full = {};
    full.file_bytes = p->program->file_bytes();
    full.weight_bytes = p->program->weight_bytes();
    full.features = p->program->features();
    full.edition = edition_number(p->program->edition());
    return write_struct(full, facts, "facts");
  };
  return fail(fill(), log_for(p));
}
int wick_program_intact(const wick_program* p) {
  if (Status given = check_pointer(p, "program"); !given.ok()) return fail(given, {});
  return fail(p->program->intact(), p->log);
}

size_t wick_program_constant_count(const wick_program* p) {
  return p == nullptr ? 0 : p->program->constants().size();
}
int wick_program_constant(const wick_program* p, size_t i, wick_constant* constant) {
  return tell(
      p, i, constant, "constant", [](const Program& program) { return program.constants(); },
      [](const Program&, const ConstantDef& from, wick_constant* to) {
        to->name = from.name;
        to_tensor(from.view, &to->tensor);
        to->packed_count = from.packed.size();
      });
}
int wick_program_packed_form(const wick_program* p, size_t constant, size_t i,
                             wick_packed_form* form) {
  if (p != nullptr && constant >= wick_program_constant_count(p))
    return fail(error(Code::kInvalidArgument, "there is no constant %zu", constant), p->log);
  return tell(
      p, i, form, "form",
      [&](const Program& program) { return program.constants()[constant].packed; },
      [&](const Program&, const PackedDef& from, wick_packed_form* to) {
        put_packed(static_cast<uint32_t>(constant), from, to);
      });
}

size_t wick_program_state_count(const wick_program* p) {
  return p == nullptr ? 0 : p->program->states().size();
}
int wick_program_state(const wick_program* p, size_t i, wick_state_buffer* state) {
  return tell(
      p, i, state, "state", [](const Program& program) { return program.states(); },
      [](const Program&, const StateDef& from, wick_state_buffer* to) {
        to->name = from.name;
        Shape shape;
        for (const DimDef& d : from.dims) shape.push_back(d.symbol < 0 ? d.value : -1);
        to_tensor(TensorView(nullptr, from.dtype, shape), &to->tensor);
        to->init = index_of(from.init);
      });
}

size_t wick_program_custom_op_count(const wick_program* p) {
  return p == nullptr ? 0 : p->program->custom_ops().size();
}
int wick_program_custom_op(const wick_program* p, size_t i, wick_custom_op* op) {
  return tell(
      p, i, op, "op", [](const Program& program) { return program.custom_ops(); },
      [](const Program&, const CustomOpDef& from, wick_custom_op* to) {
        to->domain = from.domain;
        to->name = from.name;
        to->version = from.version;
        to->given = from.op != nullptr ? 1 : 0;
      });
}

size_t wick_program_value_count(const wick_program* p, size_t entry) {
  const EntryDef* e = entry_of(p, entry);
  return e == nullptr ? 0 : e->values.size();
}
int wick_program_value(const wick_program* p, size_t entry, size_t i, wick_value* value) {
  if (Status given = check_entry(p, entry); !given.ok()) return fail(given, log_for(p));
  return tell(
      p, i, value, "value", [&](const Program& program) { return program.entries()[entry].values; },
      put_value);
}
size_t wick_program_region_count(const wick_program* p, size_t entry) {
  const EntryDef* e = entry_of(p, entry);
  return e == nullptr ? 0 : e->regions.size();
}
size_t wick_program_node_count(const wick_program* p, size_t entry, size_t region) {
  const RegionDef* r = region_of(p, entry, region);
  return r == nullptr ? 0 : r->nodes.size();
}
int wick_program_node(const wick_program* p, size_t entry, size_t region, size_t i,
                      wick_node* node) {
  if (Status given = check_entry(p, entry); !given.ok()) return fail(given, log_for(p));
  if (region_of(p, entry, region) == nullptr)
    return fail(error(Code::kInvalidArgument, "there is no region %zu", region), p->log);
  return tell(
      p, i, node, "node",
      [&](const Program& program) { return program.entries()[entry].regions[region].nodes; },
      put_node);
}
int wick_program_growing(const wick_program* p, size_t entry) {
  const EntryDef* e = entry_of(p, entry);
  return e != nullptr && e->growing ? 1 : 0;
}
