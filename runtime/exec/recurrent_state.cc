#include "runtime/exec/recurrent_state.h"

#include <cinttypes>
#include <cstring>

#include "runtime/exec/ports.h"
#include "runtime/exec/state_updates.h"

namespace wick {
namespace {

// Returns the number of a port; kNotFound lists those that there are.
Result<uint32_t> number_of(const EntryDef& entry, Span<const uint32_t> ids, const char* kind,
                           const char* name) {
  const int i = find_port(entry, ids, name);
  if (i >= 0) return static_cast<uint32_t>(i);
  return error(Code::kNotFound, "no %s is named %.60s; there are: %s", kind,
               name == nullptr ? "(null)" : name, names_of(entry, ids).text);
}

// Refuses sizes of symbols that the program does not have (a misspelt one would be ignored), and
// sizes with which no run could be bound.
Status check_dims(const Program& program, Span<const DimBinding> given) {
  for (const DimBinding& d : given) {
    if (d.symbol == nullptr) {
      return error(Code::kInvalidArgument, "dims[%zu].symbol is null",
                   static_cast<size_t>(&d - given.data()));
    }
    const SymbolDef* symbol = nullptr;
    for (const SymbolDef& s : program.symbols()) {
      if (strcmp(s.name, d.symbol) == 0) symbol = &s;
    }
    if (symbol == nullptr)
      return error(Code::kNotFound, "the program has no symbolic dimension %.60s", d.symbol);
    if (d.extent >= 0 && (d.extent < symbol->min || d.extent > symbol->max)) {
      return error(Code::kShapeMismatch,
                   "RecurrentStateOptions::dims: %.60s is %" PRId64 ", allowed are %" PRId64
                   " to %" PRId64,
                   d.symbol, d.extent, symbol->min, symbol->max);
    }
  }
  return {};
}

// Returns the shape of an input or a state whose free sizes are given.
Result<Shape> shape_of(const Program& program, const char* what, const char* name,
                       Span<const DimDef> dims, Span<const DimBinding> given) {
  Shape shape;
  for (const DimDef& dim : dims) {
    int64_t extent = dim.value;
    if (dim.symbol >= 0) {
      const SymbolDef& symbol = program.symbols()[static_cast<size_t>(dim.symbol)];
      extent = -1;
      for (const DimBinding& d : given) {
        if (strcmp(d.symbol, symbol.name) == 0) extent = d.extent;
      }
      if (extent < 0) {
        return error(Code::kInvalidArgument,
                     "%s %.60s: its size %.60s is free: give it in RecurrentStateOptions::dims",
                     what, name, symbol.name);
      }
    }
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace

Result<Owned<RecurrentState>> RecurrentState::make(const Program& program, const EntryDef& entry,
                                                   Allocator& allocator, size_t limit,
                                                   size_t slots) {
  void* memory = allocator.allocate(sizeof(RecurrentState), alignof(RecurrentState));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a state");
  Owned<RecurrentState> owned(new (memory) RecurrentState(program, entry, allocator, limit));
  WICK_ASSIGN(owned->slots_, owned->arena_.array<Slot>(slots));
  return owned;
}

Result<Owned<RecurrentState>> RecurrentState::create(const Program& program,
                                                     Span<const StateLink> links,
                                                     const RecurrentStateOptions& options) {
  const EntryDef* entry =
      options.entry == nullptr ? &program.entries()[0] : program.find_entry(options.entry);
  if (entry == nullptr)
    return error(Code::kNotFound, "there is no entry point %.60s", options.entry);
  WICK_TRY(check_dims(program, options.dims));
  Allocator& allocator = options.allocator != nullptr ? *options.allocator : default_allocator();
  const uint64_t limit = options.max_ram;
  const size_t states = program.states().size();
  WICK_ASSIGN(
      Owned<RecurrentState> owned,
      make(program, *entry, allocator, limit < SIZE_MAX ? static_cast<size_t>(limit) : SIZE_MAX,
           states + links.size()));
  RecurrentState& state = *owned;
  Array<uint8_t> copied(allocator);
  WICK_TRY(copied.resize(states));
  WICK_TRY(state.find_copied(copied));
  for (size_t i = 0; i < states; ++i) {
    Slot& slot = state.slots_[i];
    WICK_TRY(state.keep(static_cast<uint32_t>(i), options.dims, &slot));
    WICK_TRY(state.hold(&slot, copied[i] != 0));
  }
  for (size_t i = 0; i < links.size(); ++i) {
    Slot& made = state.links()[i];
    WICK_TRY(state.link(links[i], options.dims, &made));
    WICK_TRY(state.hold(&made, true));
    for (const Slot& other : state.links().subspan(0, i)) {
      if (other.input != made.input && other.output != made.output) continue;
      return error(Code::kInvalidArgument, "%.60s or %.60s is linked twice", links[i].input,
                   links[i].output);
    }
  }
  state.reset();
  WICK_TRY(program.intact());
  return owned;
}

void RecurrentState::destroy(RecurrentState* state) {
  if (state == nullptr) return;
  Allocator& allocator = state->allocator_;
  state->~RecurrentState();
  allocator.deallocate(state, sizeof(RecurrentState), alignof(RecurrentState));
}

// Marks the states that some entry point writes otherwise than in place.
Status RecurrentState::find_copied(Span<uint8_t> copied) const {
  for (const EntryDef& entry : program_.entries()) {
    Array<uint8_t> in_place(allocator_);
    WICK_TRY(in_place.resize(entry.state_updates.size()));
    WICK_TRY(find_in_place(entry, allocator_, in_place));
    for (size_t i = 0; i < in_place.size(); ++i) {
      if (in_place[i] == 0) copied[entry.state_updates[i].state] = 1;
    }
  }
  return {};
}

Status RecurrentState::keep(uint32_t i, Span<const DimBinding> dims, Slot* slot) const {
  const StateDef& def = program_.states()[i];
  slot->name = def.name;
  slot->dtype = def.dtype;
  WICK_ASSIGN(slot->shape, shape_of(program_, "state", def.name, def.dims, dims));
  if (def.init == kNoIndex) return {};
  const ConstantDef& init = program_.constants()[def.init];
  if (init.source != nullptr) WICK_TRY(annotate(init.source->fill(), "state %.60s: ", def.name));
  slot->init = init.view.data;
  return {};
}

Status RecurrentState::link(const StateLink& names, Span<const DimBinding> dims, Slot* slot) const {
  const auto ins = entry_.body().inputs, outs = entry_.body().outputs;
  WICK_ASSIGN(slot->input, number_of(entry_, ins, "input", names.input));
  WICK_ASSIGN(slot->output, number_of(entry_, outs, "output", names.output));
  const ValueDef &input = entry_.values[ins[slot->input]],
                 &output = entry_.values[outs[slot->output]];
  if (input.dtype != output.dtype || is_container(input.dtype) || input.dtype == DType::kString) {
    return error(Code::kTypeMismatch,
                 "a state is a tensor of numbers: input %.60s is %s, output %.60s is %s",
                 input.name, dtype_name(input.dtype), output.name, dtype_name(output.dtype));
  }
  if (input.unranked)
    return error(Code::kInvalidArgument, "input %.60s has a free rank", input.name);
  slot->name = input.name;
  slot->dtype = input.dtype;
  WICK_ASSIGN(slot->shape, shape_of(program_, "input", input.name, input.dims, dims));
  bool fits = output.unranked || output.dims.size() == input.dims.size();
  for (size_t i = 0; fits && i < output.dims.size(); ++i)
    fits = output.dims[i].symbol >= 0 || output.dims[i].value == slot->shape[static_cast<int>(i)];
  if (fits) return {};
  return error(Code::kShapeMismatch, "output %.60s never has the shape of input %.60s, %s",
               output.name, input.name, to_text(slot->shape).text);
}

// Allocates a slot's buffers.
Status RecurrentState::hold(Slot* slot, bool twice) {
  WICK_ASSIGN(const size_t bytes, checked_bytes(slot->shape, dtype_bits(slot->dtype)));
  for (int i = 0; i < (twice ? 2 : 1); ++i) {  // an empty one has an address
    WICK_ASSIGN(slot->buffers[i], arena_.allocate(bytes + 1, kAlignment));
  }
  return {};
}

Result<Owned<RecurrentState>> RecurrentState::fork(Allocator* allocator) {
  if (in_run_.exchange(1, std::memory_order_acquire) != 0)
    return Status(Code::kInvalidArgument, "a run uses this state: fork it between runs");
  auto copy = [&]() -> Result<Owned<RecurrentState>> {
    WICK_ASSIGN(Owned<RecurrentState> owned,
                make(program_, entry_, allocator != nullptr ? *allocator : allocator_,
                     arena_.limit(), slots_.size()));
    for (size_t i = 0; i < slots_.size(); ++i) {
      const Slot& from = slots_[i];
      Slot& to = owned->slots_[i];
      to = from;
      to.now = 0;
      WICK_TRY(owned->hold(&to, from.buffers[1] != nullptr));
      memcpy(to.buffers[0], from.buffers[from.now], from.view(from.now).nbytes());
    }
    return owned;
  };
  Result<Owned<RecurrentState>> made = copy();
  in_run_.store(0, std::memory_order_release);
  return made;
}

void RecurrentState::reset() {
  for (const Slot& slot : slots_) {
    const TensorView v = slot.view(slot.now);
    if (slot.init == nullptr) {
      memset(v.data, 0, v.nbytes());
    } else {
      memcpy(v.data, slot.init, v.nbytes());
    }
  }
}

int RecurrentState::find(const char* name) const {
  for (size_t i = 0; name != nullptr && i < slots_.size(); ++i) {
    if (strcmp(slots_[i].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace wick
