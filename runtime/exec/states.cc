// A session and the program's state buffers, which a RecurrentState holds: binding, lending,
// writing back.
#include <cinttypes>
#include <cstring>

#include "runtime/core/int_at.h"
#include "runtime/exec/ports.h"
#include "runtime/exec/session_impl.h"

namespace wick {

Status Session::Impl::prepare_states() {
  const Span<const ValueDef> all = entry().values;
  Array<uint8_t> told(memory.allocator);
  WICK_TRY(told.resize(values.program.symbols().size()));
  for (uint32_t input : entry().body().inputs) {
    for (const DimDef& dim : all[input].dims) {
      if (dim.symbol >= 0) told[static_cast<size_t>(dim.symbol)] = 1;
    }
  }
  for (uint32_t v = 0; v < all.size(); ++v) {
    if (all[v].state == kNoIndex) continue;
    WICK_TRY(states.push_back(v));
    for (const DimDef& dim : all[v].dims)
      inputs_tell = inputs_tell && (dim.symbol < 0 || told[static_cast<size_t>(dim.symbol)] != 0);
  }
  return {};
}

// Checks that the entry point gets the states that it needs, with valid bytes in them.
Status Session::Impl::check_state() const {
  if (states.empty() && entry().state_updates.empty()) return {};
  if (!*remembered) {
    const uint32_t first =
        states.empty() ? entry().state_updates[0].state : entry().values[states[0]].state;
    return error(Code::kInvalidArgument,
                 "entry point %.60s keeps state between runs (%.60s ...): give the run a "
                 "RecurrentState (RunOptions::state)",
                 entry().name, values.program.states()[first].name);
  }
  for (uint32_t v : states) {
    const ValueDef& def = entry().values[v];
    if (def.dtype == DType::kBool)
      WICK_TRY(annotate(check_bools(remembered->value(def.state)), "state %.60s: ", def.name));
  }
  return {};
}

// Returns whether the session is bound to the sizes of this run's state.
bool Session::Impl::fits_state() const {
  for (uint32_t v : states) {
    if (!(values[v].shape == remembered->value(entry().values[v].state).shape)) return false;
  }
  return true;
}

// Gives the values that are states their shapes. The inputs' symbols are bound; the others take
// their sizes from the state.
Status Session::Impl::bind_states() {
  const bool given = remembered != nullptr && *remembered;
  for (uint32_t v : states) {
    const ValueDef& def = entry().values[v];
    Shape shape;
    for (size_t d = 0; d < def.dims.size(); ++d) {
      const DimDef& dim = def.dims[d];
      if (dim.symbol < 0) {
        shape.push_back(dim.value);
        continue;
      }
      const SymbolDef& symbol = values.program.symbols()[static_cast<size_t>(dim.symbol)];
      int64_t& extent = values.symbols[static_cast<size_t>(dim.symbol)];
      if (extent < 0 && !given) {
        return error(Code::kInvalidArgument,
                     "state %.60s: no input has its size %.60s, so only a run with a state binds",
                     def.name, symbol.name);
      }
      if (extent < 0) extent = remembered->value(def.state).shape[static_cast<int>(d)];
      if (extent < symbol.min || extent > symbol.max) {
        return error(Code::kShapeMismatch,
                     "state %.60s: %.40s is %" PRId64 ", allowed are %" PRId64 " to %" PRId64,
                     def.name, symbol.name, extent, symbol.min, symbol.max);
      }
      shape.push_back(extent);
    }
    WICK_TRY(
        annotate(checked_bytes(shape, dtype_bits(def.dtype)).status(), "state %.60s: ", def.name));
    if (given && !(shape == remembered->value(def.state).shape)) {
      return error(Code::kShapeMismatch,
                   "state %.60s has shape %s, with these inputs it should be %s: make one for them "
                   "(RecurrentStateOptions::dims)",
                   def.name, to_text(remembered->value(def.state).shape).text, to_text(shape).text);
    }
    WICK_TRY(values.set(v, nullptr, def.dtype, shape));
  }
  return {};
}

void Session::Impl::lend_state() {
  for (uint32_t v : states) values.views[v].data = remembered->value(entry().values[v].state).data;
}

// Checks that what the run made fits the states that it becomes.
Status Session::Impl::check_updates() const {
  for (const StateUpdateDef& u : entry().state_updates) {
    const TensorView &made = values.views[u.value], have = remembered->value(u.state);
    if (made.dtype == have.dtype && made.shape == have.shape) continue;
    return error(Code::kShapeMismatch, "value %.60s is %s %s and becomes state %.60s, %s %s",
                 entry().values[u.value].name, dtype_name(made.dtype), to_text(made.shape).text,
                 values.program.states()[u.state].name, dtype_name(have.dtype),
                 to_text(have.shape).text);
  }
  return {};
}

// Checks that what the run made is what its links keep.
Status Session::Impl::check_links() const {
  if (!remembered->linked()) return {};
  const Span<const uint32_t> out = entry().body().outputs;
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorView &made = values.views[out[i]], to = remembered->next(i);
    if (!to.present() || (made.dtype == to.dtype && made.shape == to.shape)) continue;
    return error(Code::kShapeMismatch,
                 "output %.60s is %s %s and becomes an input by a link, which keeps %s %s",
                 entry().values[out[i]].name, dtype_name(made.dtype), to_text(made.shape).text,
                 dtype_name(to.dtype), to_text(to.shape).text);
  }
  return {};
}

// Hands what the run made to the states; some of it was made in place.
void Session::Impl::update() {
  for (size_t i = 0; i < entry().state_updates.size(); ++i) {
    const StateUpdateDef& u = entry().state_updates[i];
    if (values.in_place[i] == 0) remembered->write(u.state, values.views[u.value].data);
  }
}

// The same for results that a kernel could not make in place, of states that have one buffer alone:
// nothing may fail behind it.
void Session::Impl::update_single() {
  for (size_t i = 0; i < entry().state_updates.size(); ++i) {
    const StateUpdateDef& u = entry().state_updates[i];
    const TensorView state = remembered->value(u.state);
    const void* made = values.views[u.value].data;
    if (values.in_place[i] != 0 && made != state.data && state.nbytes() != 0)
      memcpy(state.data, made, state.nbytes());
  }
}

// An index that leads out of a tensor mostly comes from a state that is full: the error says what
// the small states of integers, lengths and positions, were.
Status Session::Impl::say_state(Status s) const {
  if (s.code() != Code::kInvalidArgument) return s;
  char text[120];
  text[0] = '\0';
  size_t at = 0;
  for (uint32_t v : states) {
    const TensorView state = remembered->value(entry().values[v].state);
    if (!is_int(state.dtype) || dtype_bits(state.dtype) < 8 || state.numel() < 1 ||
        state.numel() > 4 || at + 60 > sizeof(text))
      continue;
    at += part_of_text(text + at, sizeof(text) - at, "%s%.30s", at == 0 ? "" : ", ",
                       entry().values[v].name);
    for (int64_t i = 0; i < state.numel() && at + 24 < sizeof(text); ++i)
      at += part_of_text(text + at, sizeof(text) - at, " %lld",
                         static_cast<long long>(int_at(state, i)));
  }
  return at == 0 ? s : annotate(s, "with the state at %s: ", text);
}

}  // namespace wick
