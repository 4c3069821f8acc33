#include "runtime/exec/recurrent_state.h"

#include <cstring>

#include "runtime/exec/ports.h"

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

// Returns the shape of an input whose free sizes are given.
Result<Shape> shape_of(const Program& program, const ValueDef& input,
                       Span<const DimBinding> given) {
  if (input.unranked)
    return error(Code::kInvalidArgument, "input %.60s has a free rank", input.name);
  Shape shape;
  for (const DimDef& dim : input.dims) {
    int64_t extent = dim.value;
    if (dim.symbol >= 0) {
      const char* symbol = program.symbols()[static_cast<size_t>(dim.symbol)].name;
      extent = -1;
      for (const DimBinding& d : given) {
        if (d.symbol != nullptr && strcmp(d.symbol, symbol) == 0) extent = d.extent;
      }
      if (extent < 0) {
        return error(Code::kInvalidArgument,
                     "input %.60s: its size %.60s is free: give it in RecurrentStateOptions::dims",
                     input.name, symbol);
      }
    }
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace

Result<Owned<RecurrentState>> RecurrentState::create(const Program& program,
                                                     Span<const StateLink> links,
                                                     const RecurrentStateOptions& options) {
  const EntryDef* entry =
      options.entry == nullptr ? &program.entries()[0] : program.find_entry(options.entry);
  if (entry == nullptr)
    return error(Code::kNotFound, "there is no entry point %.60s", options.entry);
  Allocator& allocator = options.allocator != nullptr ? *options.allocator : default_allocator();
  void* memory = allocator.allocate(sizeof(RecurrentState), alignof(RecurrentState));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a state");
  const uint64_t limit = options.max_ram;
  auto* state = new (memory)
      RecurrentState(*entry, allocator, limit < SIZE_MAX ? static_cast<size_t>(limit) : SIZE_MAX);
  Owned<RecurrentState> owned(state);
  WICK_ASSIGN(state->links_, state->arena_.array<Link>(links.size()));
  for (size_t i = 0; i < links.size(); ++i) {
    Link& made = state->links_[i];
    WICK_TRY(state->link(program, links[i], options.dims, &made));
    for (const Link& other : state->links_.subspan(0, i)) {
      if (other.input != made.input && other.output != made.output) continue;
      return error(Code::kInvalidArgument, "%.60s or %.60s is linked twice", links[i].input,
                   links[i].output);
    }
  }
  state->reset();
  return owned;
}

void RecurrentState::destroy(RecurrentState* state) {
  if (state == nullptr) return;
  Allocator& allocator = state->allocator_;
  state->~RecurrentState();
  allocator.deallocate(state, sizeof(RecurrentState), alignof(RecurrentState));
}

Status RecurrentState::link(const Program& program, const StateLink& names,
                            Span<const DimBinding> dims, Link* link) {
  const auto ins = entry_.body().inputs, outs = entry_.body().outputs;
  WICK_ASSIGN(link->input, number_of(entry_, ins, "input", names.input));
  WICK_ASSIGN(link->output, number_of(entry_, outs, "output", names.output));
  const ValueDef &input = entry_.values[ins[link->input]],
                 &output = entry_.values[outs[link->output]];
  if (input.dtype != output.dtype || is_container(input.dtype) || input.dtype == DType::kString) {
    return error(Code::kTypeMismatch,
                 "a state is a tensor of numbers: input %.60s is %s, output %.60s is %s",
                 input.name, dtype_name(input.dtype), output.name, dtype_name(output.dtype));
  }
  link->dtype = input.dtype;
  WICK_ASSIGN(link->shape, shape_of(program, input, dims));
  WICK_ASSIGN(const size_t bytes, checked_bytes(link->shape, dtype_bits(link->dtype)));
  for (void*& buffer : link->buffers) {
    WICK_ASSIGN(buffer, arena_.allocate(bytes + 1, kAlignment));  // an empty one has an address
  }
  return {};
}

void RecurrentState::reset() {
  for (const Link& link : links_) {
    const TensorView v = view(link, now_);
    memset(v.data, 0, v.nbytes());
  }
}

Status RecurrentState::join(Span<const TensorView> inputs, Span<const TensorView> outputs,
                            Span<TensorView> in, Span<TensorView> out) const {
  if (inputs.size() + links_.size() != in.size() || outputs.size() + links_.size() != out.size()) {
    return error(Code::kInvalidArgument,
                 "%zu inputs and %zu outputs given, the program has %zu and %zu besides its state",
                 inputs.size(), outputs.size(), in.size() - links_.size(),
                 out.size() - links_.size());
  }
  for (const Link& link : links_) {
    in[link.input] = view(link, now_);
    out[link.output] = view(link, 1 - now_);
  }
  size_t next = 0;
  for (TensorView& v : in) {
    if (!v.present()) v = inputs[next++];
  }
  next = 0;
  for (TensorView& v : out) {
    if (!v.present()) v = outputs[next++];
  }
  return {};
}

}  // namespace wick
