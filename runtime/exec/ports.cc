#include "runtime/exec/ports.h"

#include <cinttypes>
#include <cstddef>
#include <cstring>

#include "runtime/core/packed_sequence.h"
#include "runtime/core/string_ref.h"

namespace wick {
namespace {

Status check_strings(const TensorView& v) {
  for (int64_t i = 0, n = v.numel(); i < n; ++i) {
    const StringRef& s = v.as<StringRef>()[i];
    if (s.size > SIZE_MAX / 2 || (s.size != 0 && s.data == nullptr)) {
      return error(Code::kInvalidArgument, "string %lld has no bytes", static_cast<long long>(i));
    }
  }
  return {};
}

}  // namespace

Status check_bools(const TensorView& v) {
  const auto* bytes = static_cast<const uint8_t*>(v.data);
  const int64_t n = v.numel();
  uint8_t any = 0;
  for (int64_t i = 0; i < n; ++i) any = static_cast<uint8_t>(any | bytes[i]);
  for (int64_t i = 0; any > 1 && i < n; ++i) {
    if (bytes[i] > 1) {
      return error(Code::kInvalidArgument, "byte %lld of its bools is %d, not 0 or 1",
                   static_cast<long long>(i), bytes[i]);
    }
  }
  return {};
}

namespace {

Status check_contents(const TensorView& v) {
  if (v.dtype == DType::kString) return check_strings(v);
  return v.dtype == DType::kBool ? check_bools(v) : Status();
}

// Checks a sequence or an optional that a caller gives.
Status check_packed(const ValueDef& def, const TensorView& v) {
  if (v.rank() != 1) return Status(Code::kShapeMismatch, "a packed value has the shape [bytes]");
  WICK_ASSIGN(PackedSequence s, PackedSequence::open(v));
  if (s.dtype() != def.element) {
    return error(Code::kTypeMismatch, "its elements are %s, the program takes %s",
                 dtype_name(s.dtype()), dtype_name(def.element));
  }
  const bool limited = s.dtype() == DType::kString || s.dtype() == DType::kBool;
  for (int64_t i = 0; limited && i < s.count(); ++i)
    WICK_TRY(annotate(check_contents(s.at(i)), "element %lld: ", static_cast<long long>(i)));
  if (def.dtype == DType::kSequence && !s.present())
    return Status(Code::kInvalidArgument, "a sequence cannot be absent");
  if (def.dtype == DType::kOptional && s.count() != (s.present() ? 1 : 0))
    return Status(Code::kInvalidArgument, "an optional tensor holds one element or none");
  return {};
}

}  // namespace

PortInfo port(const EntryDef& entry, uint32_t id) {
  const ValueDef& v = entry.values[id];
  return {v.name, v.dtype, v.unranked, v.dims, v.element};
}

int find_port(const EntryDef& entry, Span<const uint32_t> ids, const char* name) {
  for (size_t i = 0; name != nullptr && i < ids.size(); ++i) {
    if (strcmp(entry.values[ids[i]].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

NameList names_of(const EntryDef& entry, Span<const uint32_t> ids) {
  NameList list;
  list.text[0] = '\0';
  size_t at = 0;
  for (uint32_t id : ids) {
    const char* name = entry.values[id].name;
    size_t n = strlen(name);
    if (at + n + 3 > sizeof(list.text)) break;
    if (at != 0) {
      memcpy(list.text + at, ", ", 2);
      at += 2;
    }
    memcpy(list.text + at, name, n + 1);
    at += n;
  }
  return list;
}

// Returns the alignment that a caller's variables and arrays have. Where 32-bit x86 puts an int64_t
// or a double on the stack or into a struct, that is 4.
size_t alignment_of(DType dtype) {
  struct Wide {
    char first;
    int64_t second;
  };
  if (is_container(dtype)) return 8;
  const size_t size = dtype_size(dtype);
  return size < 2 ? 1 : size < 8 ? size : offsetof(Wide, second);
}

Status check_inputs(const EntryDef& entry, Span<const TensorView> inputs,
                    const DevicePorts& device) {
  auto in = entry.body().inputs;
  if (inputs.size() != in.size()) {
    return error(Code::kInvalidArgument, "%zu inputs given, the program takes %zu: %s",
                 inputs.size(), in.size(), names_of(entry, in).text);
  }
  for (size_t i = 0; i < in.size(); ++i) {
    const ValueDef& def = entry.values[in[i]];
    const TensorView& v = inputs[i];
    if (v.dtype != def.dtype) {
      return error(Code::kTypeMismatch, "input %.60s is %s, the program takes %s", def.name,
                   dtype_name(v.dtype), dtype_name(def.dtype));
    }
    auto bytes = checked_bytes(v.shape, dtype_bits(v.dtype));
    if (!bytes.ok()) return annotate(bytes.status(), "input %.60s: ", def.name);
    if (device.input(i) != nullptr) continue;
    if (*bytes != 0 && v.data == nullptr)
      return error(Code::kInvalidArgument, "input %.60s has no data", def.name);
    if (!v.contiguous() || reinterpret_cast<uintptr_t>(v.data) % alignment_of(v.dtype) != 0) {
      return error(Code::kInvalidArgument,
                   "input %.60s must be contiguous and aligned to its elements", def.name);
    }
    WICK_TRY(annotate(is_container(v.dtype) ? check_packed(def, v) : check_contents(v),
                      "input %.60s: ", def.name));
  }
  return {};
}

Status check_output_count(const EntryDef& entry, Span<TensorView> outputs) {
  auto out = entry.body().outputs;
  if (outputs.size() == out.size()) return {};
  return error(Code::kInvalidArgument, "%zu outputs given, the program has %zu: %s", outputs.size(),
               out.size(), names_of(entry, out).text);
}

Status check_outputs(const SessionValues& values, Span<TensorView> outputs,
                     const DevicePorts& device) {
  auto out = values.entry.body().outputs;
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorView& have = values.views[out[i]];
    if (outputs[i].data == nullptr || device.output(i) != nullptr) continue;
    if (outputs[i].dtype != have.dtype) {
      return error(Code::kTypeMismatch, "output %.60s is %s, the buffer given is %s",
                   values.entry.values[out[i]].name, dtype_name(have.dtype),
                   dtype_name(outputs[i].dtype));
    }
    if (!(outputs[i].shape == have.shape) || !outputs[i].contiguous()) {
      return error(Code::kShapeMismatch,
                   "output %.60s has shape %s, the buffer given %s (it must be contiguous)",
                   values.entry.values[out[i]].name, to_text(have.shape).text,
                   to_text(outputs[i].shape).text);
    }
  }
  return {};
}

Status bind_symbols(SessionValues& values, Span<const Shape> given_shapes) {
  for (int64_t& extent : values.symbols) extent = -1;
  auto ports = values.entry.body().inputs;
  if (given_shapes.size() != ports.size()) {
    return error(Code::kInvalidArgument, "%zu inputs given, the program takes %zu",
                 given_shapes.size(), ports.size());
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const ValueDef& v = values.entry.values[ports[i]];
    const Shape& s = given_shapes[i];
    auto bytes = checked_bytes(s, dtype_bits(v.dtype));
    if (!bytes.ok()) return annotate(bytes.status(), "input %.60s: ", v.name);
    if (v.unranked) continue;
    if (static_cast<size_t>(s.rank()) != v.dims.size()) {
      return error(Code::kShapeMismatch, "input %.60s: %s has rank %d, the program says %zu",
                   v.name, to_text(s).text, s.rank(), v.dims.size());
    }
    for (int d = 0; d < s.rank(); ++d) {
      const DimDef& dim = v.dims[static_cast<size_t>(d)];
      if (dim.symbol < 0) {
        if (s[d] == dim.value) continue;
        return error(Code::kShapeMismatch, "input %.60s: dimension %d of %s should be %" PRId64,
                     v.name, d, to_text(s).text, dim.value);
      }
      const SymbolDef& symbol = values.program.symbols()[static_cast<size_t>(dim.symbol)];
      int64_t& extent = values.symbols[static_cast<size_t>(dim.symbol)];
      if (s[d] < symbol.min || s[d] > symbol.max) {
        return error(Code::kShapeMismatch,
                     "input %.60s: %.40s is %" PRId64 ", allowed are %" PRId64 " to %" PRId64,
                     v.name, symbol.name, s[d], symbol.min, symbol.max);
      }
      if (extent >= 0 && extent != s[d]) {
        return error(
            Code::kShapeMismatch,
            "input %.60s: %.40s is %" PRId64 " here and %" PRId64
            " in another dimension; where an ONNX file means two sizes by it, convert it with "
            "--own-sizes",
            v.name, symbol.name, s[d], extent);
      }
      extent = s[d];
    }
  }
  return {};
}

}  // namespace wick
