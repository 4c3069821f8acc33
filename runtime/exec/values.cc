#include "runtime/exec/values.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/int_at.h"
#include "runtime/core/packed_sequence.h"
#include "runtime/exec/state_updates.h"
#include "runtime/program/release.h"

namespace wick {
namespace {

constexpr size_t kMaxKept = 16 * 1024;  // largest constant that a session copies, in bytes

}  // namespace

// Allocates what lives as long as the session, indexed by value of the entry.
Status SessionValues::prepare(bool all) {
  if (!planned.empty() || entry.values.empty()) return {};
  WICK_ASSIGN(symbols, frame.array<int64_t>(program.symbols().size()));
  WICK_ASSIGN(last_use, frame.array<uint32_t>(entry.values.size()));
  WICK_ASSIGN(views, frame.array<TensorView>(entry.values.size()));
  WICK_ASSIGN(auto made, frame.array<PlanValue>(entry.values.size()));
  for (const RegionDef& region : entry.regions) {
    for (uint32_t n = 0; n < region.nodes.size(); ++n) {
      const NodeDef& node = region.nodes[n];
      most_operands = std::max(most_operands, node.inputs.size() + node.outputs.size());
      for (uint32_t v : node.inputs) {
        if (v != kNoIndex) last_use[v] = n;
      }
    }
    for (uint32_t v : region.outputs) last_use[v] = kNoIndex;
  }
  WICK_TRY(prepare_updates());
  for (uint32_t i = 0; i < made.size(); ++i) {
    has_strings = has_strings || entry.values[i].dtype == DType::kString ||
                  entry.values[i].element == DType::kString;
    if (entry.values[i].constant == kNoIndex) continue;
    const ConstantDef& c = program.constants()[entry.values[i].constant];
    made[i] = {
        entry.values[i].name,     c.view.dtype, 0,          c.view.shape, c.view.data, c.packed,
        entry.values[i].constant, c.source,     c.view.data};
    views[i] = c.view;
    WICK_TRY(keep(c, &made[i], &views[i]));
  }
  WICK_TRY(fill_read(made, all));
  planned = made;
  return {};
}

// What becomes a state is needed until the run's end.
Status SessionValues::prepare_updates() {
  if (entry.state_updates.empty()) return {};
  WICK_ASSIGN(in_place, frame.array<uint8_t>(entry.state_updates.size()));
  WICK_TRY(find_in_place(entry, allocator, in_place));
  WICK_ASSIGN(is_state, frame.array<uint8_t>(entry.values.size()));
  for (size_t i = 0; i < in_place.size(); ++i) {
    const uint32_t value = entry.state_updates[i].value;
    last_use[value] = kNoIndex;
    if (in_place[i] != 0) is_state[value] = 1;
  }
  return {};
}

// Small constants are copied out of a mapped file: reading one there would load a whole large page
// again, together with released weights beside it.
Status SessionValues::keep(const ConstantDef& c, PlanValue* value, TensorView* view) {
  const size_t bytes = c.view.nbytes();
  if (c.source != nullptr || c.view.dtype == DType::kString || bytes > kMaxKept ||
      !is_mapped(program, c.view.data, bytes))
    return {};
  WICK_ASSIGN(void* copy, frame.allocate(bytes, kAlignment));
  if (bytes > 0) memcpy(copy, c.view.data, bytes);
  value->data = view->data = copy;
  return {};
}

// Fills constants that are read in raw form by anything other than packing. That includes constants
// small enough to be evaluated at bind; a device or a hook may look at all of them (`all`).
Status SessionValues::fill_read(Span<PlanValue> constants, bool all) const {
  auto fill = [&](uint32_t v) -> Status {
    if (v == kNoIndex || constants[v].source == nullptr) return {};
    return annotate(constants[v].source->fill(), "constant %.60s: ", constants[v].name);
  };
  for (uint32_t v = 0; v < constants.size(); ++v) {
    if (all || views[v].nbytes() <= kMaxEvaluated) WICK_TRY(fill(v));
  }
  for (const RegionDef& region : entry.regions) {
    for (uint32_t v : region.outputs) WICK_TRY(fill(v));
    for (const NodeDef& node : region.nodes) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.custom != nullptr || !reads_packed(node.op, i)) WICK_TRY(fill(node.inputs[i]));
      }
    }
  }
  return {};
}

TensorView SessionValues::as_planned(uint32_t id) const {
  if (id == kNoIndex) return {};
  return planned[id].view();
}

Status SessionValues::set(uint32_t id, void* data, DType dtype, const Shape& shape) {
  WICK_TRY(check_dtype(id, dtype));
  planned[id] = PlanValue();
  planned[id].name = entry.values[id].name;
  planned[id].dtype = dtype;
  planned[id].shape = shape;
  views[id] = TensorView(data, dtype, shape);
  return {};
}

Status SessionValues::hand_on(uint32_t from, uint32_t to) {
  const TensorView v = views[from];
  return set(to, v.data, v.dtype, v.shape);
}

Status SessionValues::check_dtype(uint32_t value, DType dtype) const {
  const ValueDef& def = entry.values[value];
  if (dtype == def.dtype) return {};
  return error(Code::kInvalidProgram, "value %u (%.60s) comes out as %s, the program declares %s",
               value, def.name, dtype_name(dtype), dtype_name(def.dtype));
}

Status SessionValues::check_declared(uint32_t value) const {
  const ValueDef& def = entry.values[value];
  const PlanValue& v = planned[value];
  bool fits =  // the dtype: check_dtype
      def.unranked || def.dims.size() == static_cast<size_t>(v.shape.rank());
  for (size_t d = 0; fits && !def.unranked && d < def.dims.size(); ++d) {
    const DimDef& dim = def.dims[d];
    int64_t extent = v.shape[static_cast<int>(d)];
    if (dim.symbol < 0) {
      fits = dim.value == extent;
    } else if (int64_t known = symbols[static_cast<size_t>(dim.symbol)]; known >= 0) {
      fits = known == extent;
    }
  }
  if (fits && is_container(v.dtype)) {  // the elements' type that callers were promised
    WICK_ASSIGN(PackedSequence s, PackedSequence::open(views[value]));
    if (s.dtype() == def.element) return {};
    return error(Code::kInvalidProgram,
                 "value %u (%.60s) comes out with elements of %s, the program declares %s", value,
                 def.name, dtype_name(s.dtype()), dtype_name(def.element));
  }
  if (fits) return {};
  return error(Code::kInvalidProgram,
               "value %u (%.60s) comes out as %s %s, which is not what the program declares", value,
               def.name, dtype_name(v.dtype), to_text(v.shape).text);
}

Status read_elements(const TensorView& v, bool reals, Arena& arena, ValueInfo<int64_t>* info,
                     int64_t limit) {
  if (is_container(v.dtype)) {
    info->elements = static_cast<const int64_t*>(v.data);
    info->element_count = static_cast<int64_t>(v.nbytes() / sizeof(int64_t));
    return {};
  }
  if (v.data == nullptr || (!is_int(v.dtype) && !reals) || v.rank() > 1 || v.numel() > limit)
    return {};
  auto n = static_cast<size_t>(v.numel());
  info->element_count = static_cast<int64_t>(n);
  if (reals) {
    WICK_ASSIGN(auto bits, arena.array<int64_t>(n + 1));
    for (size_t i = 0; i < n; ++i) bits[i] = real_bits_at(v.dtype, v.data, static_cast<int64_t>(i));
    info->elements = bits.data();
    return {};
  }
  if (v.dtype == DType::kI64) {
    info->elements = v.as<int64_t>();
    return {};
  }
  WICK_ASSIGN(auto out, arena.array<int64_t>(n + 1));
  for (size_t i = 0; i < n; ++i) out[i] = int_at(v, static_cast<int64_t>(i));
  info->elements = out.data();
  return {};
}

}  // namespace wick
