#include "tools/lib/kept_state.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>

#include "runtime/core/half.h"
#include "tools/lib/arrays.h"
#include "tools/lib/limits.h"
#include "tools/lib/model.h"
#include "tools/lib/sample_inputs.h"
#include "tools/lib/usage.h"
#include "trainer/data/npz.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

// The sizes of a program's symbols, and what gave them.
class StateSizes {
 public:
  explicit StateSizes(const Program& program)
      : program_(program), sizes_(program.symbols().size()) {}

  void give(Span<const DimDef> dims, const Shape& shape, const std::string& by) {
    if (dims.size() != static_cast<size_t>(shape.rank())) return;  // an input of free rank
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].symbol >= 0) give(dims[d].symbol, shape[static_cast<int>(d)], by);
    }
  }
  void give(int32_t symbol, int64_t size, const std::string& by) {
    Size& known = sizes_[static_cast<size_t>(symbol)];
    if (known.value < 0) known = {size, by};
    if (known.value == size) return;
    throw Error(
        fmt::format("{} is {} by {} and {} by {}", name(symbol), known.value, known.by, size, by),
        Code::kShapeMismatch);
  }

  // Checks that a state has all its sizes.
  void need(const StateDef& state) const {
    for (const DimDef& d : state.dims) {
      if (d.symbol < 0 || sizes_[static_cast<size_t>(d.symbol)].value >= 0) continue;
      wrong_usage("--dim",
                  fmt::format("state {} {} needs a size for '{}': --dim {}=N", state.name,
                              dims_text(program_, {state.name, state.dtype, false, state.dims}),
                              name(d.symbol), name(d.symbol)));
    }
  }
  std::vector<DimBinding> bindings() const {
    std::vector<DimBinding> all;
    for (size_t s = 0; s < sizes_.size(); ++s) {
      if (sizes_[s].value >= 0) all.push_back({program_.symbols()[s].name, sizes_[s].value});
    }
    return all;
  }

 private:
  struct Size {
    int64_t value = -1;  // -1: not known
    std::string by;
  };
  const char* name(int32_t symbol) const {
    return program_.symbols()[static_cast<size_t>(symbol)].name;
  }

  const Program& program_;
  std::vector<Size> sizes_;
};

// Returns float32 numbers as bfloat16; throws Error for one that bfloat16 does not have.
HostTensor as_bfloat16(const std::string& what, const HostTensor& from) {
  HostTensor to(DType::kBF16, from.shape());
  for (int64_t i = 0; i < from.numel(); ++i) {
    const float f = from.as<float>()[i];
    to.as<BFloat16>()[i] = BFloat16(f);
    const auto back = static_cast<float>(to.as<BFloat16>()[i]);
    if (f == f && std::bit_cast<uint32_t>(back) != std::bit_cast<uint32_t>(f)) {
      throw Error(fmt::format("{} is bfloat16, which has no {}: its numbers are float32", what, f),
                  Code::kTypeMismatch);
    }
  }
  return to;
}

// The most bytes that the states of a stream may take.
uint64_t state_budget() { return within_memory(uint64_t{1} << 33); }

// Checks what an array of a state's file says of itself, before its numbers are unpacked.
void check_kept(const std::string& path, const Program& program, const StateDef& s, DType dtype,
                const Shape& shape) {
  bool fits = static_cast<size_t>(shape.rank()) == s.dims.size();
  for (int d = 0; fits && d < shape.rank(); ++d) {
    const DimDef& dim = s.dims[static_cast<size_t>(d)];
    fits = dim.symbol >= 0 || dim.value == shape[d];
  }
  const DType in_file = s.dtype == DType::kBF16 ? DType::kF32 : s.dtype;
  if (!fits || dtype != in_file) {
    throw Error(fmt::format("'{}': {} is {}{}, and the program keeps {}{}", path, s.name,
                            dtype_name(dtype), to_text(shape).text, dtype_name(in_file),
                            dims_text(program, {s.name, s.dtype, false, s.dims})),
                fits ? Code::kTypeMismatch : Code::kShapeMismatch);
  }
  for (int d = 0; d < shape.rank(); ++d) {
    const int32_t number = s.dims[static_cast<size_t>(d)].symbol;
    if (number < 0) continue;
    const SymbolDef& symbol = program.symbols()[static_cast<size_t>(number)];
    if (shape[d] >= symbol.min && shape[d] <= symbol.max) continue;
    throw Error(fmt::format("'{}': {} has {} as its size {}, allowed are {} to {}", path, s.name,
                            shape[d], symbol.name, symbol.min, symbol.max),
                Code::kShapeMismatch);
  }
}

// Reads the file of write_state() for a program, in the order of its states, and gives `sizes` what
// it says. What does not fit the program, or the sizes that are known, is refused before it is
// unpacked.
std::vector<HostTensor> read_state(const std::string& path, const Program& program,
                                   StateSizes& sizes) {
  std::string kept;
  for (const StateDef& s : program.states()) kept += fmt::format(" {}", s.name);
  const auto wanted = [&](const std::string& name, DType dtype, const Shape& shape) {
    for (const StateDef& s : program.states()) {
      if (name != s.name) continue;
      check_kept(path, program, s, dtype, shape);
      sizes.give(s.dims, shape, fmt::format("state {} of '{}'", s.name, path));
      return true;
    }
    throw Error(fmt::format("'{}' has '{}', and the program keeps:{}", path, name, kept),
                Code::kNotFound);
  };
  const auto arrays = data::read_npz(path, state_budget(), wanted);
  std::vector<HostTensor> values;
  for (const StateDef& s : program.states()) {
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const auto& a) { return a.first == s.name; });
    if (found == arrays.end()) {
      throw Error(fmt::format("'{}' has no '{}'; the program keeps:{}", path, s.name, kept),
                  Code::kNotFound);
    }
    const data::HostArray& a = found->second;
    HostTensor value(a.dtype, a.shape, a.bytes.data(), a.bytes.size());
    values.push_back(s.dtype != DType::kBF16
                         ? std::move(value)
                         : as_bfloat16(fmt::format("'{}': {}", path, s.name), value));
  }
  return values;
}

}  // namespace

Owned<RecurrentState> make_state(const Program& program, const Session& session,
                                 const StateSource& source) {
  StateSizes sizes(program);
  for (size_t i = 0; i < source.inputs.size(); ++i) {
    const PortInfo port = session.input(i);
    sizes.give(port.dims, source.inputs[i].shape(), fmt::format("input {}", port.name));
  }
  for (const std::string& text : source.dims) {
    const auto [symbol, size] = named_size(program, text);
    sizes.give(symbol, size, "--dim");
  }
  std::vector<HostTensor> values;
  if (!source.file.empty()) values = read_state(source.file, program, sizes);
  for (const StateDef& s : program.states()) sizes.need(s);
  const std::vector<DimBinding> dims = sizes.bindings();
  RecurrentStateOptions options;
  options.dims = {dims.data(), dims.size()};
  options.max_ram = state_budget();
  Owned<RecurrentState> state = take(RecurrentState::create(program, {}, options), "state");
  if (!values.empty()) set_state(state.get(), values);
  return state;
}

std::vector<HostTensor> state_values(const RecurrentState& state) {
  std::vector<HostTensor> values;
  for (size_t i = 0; i < state.size(); ++i) {
    const TensorView v = state.value(i);
    values.emplace_back(v.dtype, v.shape, v.data, v.nbytes());
  }
  return values;
}

void set_state(RecurrentState* state, Span<const HostTensor> values) {
  for (size_t i = 0; i < state->size(); ++i) {
    const TensorView v = state->value(i);
    if (v.nbytes() != 0) memcpy(v.data, values[i].data(), v.nbytes());
  }
}

void write_state(const std::string& path, const RecurrentState& state) {
  std::vector<HostTensor> widened(state.size());
  std::vector<data::NamedArray> arrays;
  for (size_t i = 0; i < state.size(); ++i) {
    const TensorView v = state.value(i);
    if (v.dtype == DType::kBF16)
      widened[i] = as_numpy(HostTensor(v.dtype, v.shape, v.data, v.nbytes()));
    arrays.push_back({state.name(i), widened[i].present() ? widened[i].view() : v});
  }
  data::write_npz(path, arrays);
}

}  // namespace wick::tool
