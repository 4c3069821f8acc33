// A case as a .wick file, and in words.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/core/half.h"
#include "tests/fuzz/op_case.h"
#include "tests/program/program_builder.h"
#include "tests/runtime/string_programs.h"

namespace wick::fuzz {
namespace {

template <class T>
T saturated(double v) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(v)) return 0;
  if (v <= static_cast<double>(Limits::min())) return Limits::min();
  if (v >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(v);
}

template <class T>
void put(std::vector<uint8_t>& to, T v) {
  const size_t at = to.size();
  to.resize(at + sizeof(T));
  memcpy(to.data() + at, &v, sizeof(T));
}

void put_one(std::vector<uint8_t>& to, DType t, double v) {
  const auto narrow = [&] { return static_cast<float>(v); };
  switch (t) {
    case DType::kF32: return put(to, narrow());
    case DType::kF64: return put(to, v);
    case DType::kF16: return put(to, Half(narrow()));
    case DType::kBF16: return put(to, BFloat16(narrow()));
    case DType::kI8: return put(to, saturated<int8_t>(v));
    case DType::kI16: return put(to, saturated<int16_t>(v));
    case DType::kI32: return put(to, saturated<int32_t>(v));
    case DType::kI64: return put(to, saturated<int64_t>(v));
    case DType::kU16: return put(to, saturated<uint16_t>(v));
    case DType::kU32: return put(to, saturated<uint32_t>(v));
    case DType::kU64: return put(to, saturated<uint64_t>(v));
    case DType::kC64: put(to, narrow()); return put(to, narrow());
    case DType::kC128: put(to, v); return put(to, v);
    default: return put(to, saturated<uint8_t>(v));  // dtypes of one byte; bools of any value, too
  }
}

// Returns how many symbols there are if a dim is this one.
size_t symbols_to(int64_t dim) { return dim < 0 ? static_cast<size_t>(-dim) : 0; }
std::string numbered(char letter, size_t k) { return letter + std::to_string(k); }

}  // namespace

std::vector<uint8_t> bytes_of(const OpInput& in) {
  std::vector<uint8_t> bytes;
  if (in.dtype == DType::kString || in.dtype == DType::kNone) return bytes;
  const auto n = static_cast<size_t>(numel(in.shape));
  const auto value = [&](size_t i) {
    return in.values.empty() ? static_cast<double>(i % 5) : in.values[i % in.values.size()];
  };
  const int bits = dtype_bits(in.dtype);
  if (bits < 8) {
    bytes.resize((n * static_cast<size_t>(bits) + 7) / 8);
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<uint8_t>(37 * i + saturated<uint8_t>(value(i)));
    return bytes;
  }
  bytes.reserve(n * static_cast<size_t>(bits) / 8);
  for (size_t i = 0; i < n; ++i) put_one(bytes, in.dtype, value(i));
  return bytes;
}

std::vector<uint8_t> build(const OpCase& c) {
  test::ProgramBuilder p;
  const auto dims_of = [](const std::vector<int64_t>& dims) {
    std::vector<int64_t> of;
    for (int64_t d : dims) of.push_back(d < 0 ? test::kSym + 1 + d : d);
    return of;
  };
  bool non_tensor = false;
  size_t most = 0;
  for (const OpInput& in : c.in) {
    for (int64_t d : in.dims) most = std::max(most, symbols_to(d));
  }
  for (const OpOutput& out : c.out) {
    for (int64_t d : out.dims) most = std::max(most, symbols_to(d));
  }
  for (size_t k = 0; k < most; ++k) p.symbol(numbered('s', k).c_str());
  const auto declared = [&](const std::string& name, DType t, const std::vector<int64_t>& dims,
                            bool unranked, uint32_t constant = kNoIndex) {
    non_tensor = non_tensor || t == DType::kString || is_container(t);
    return p.value(name.c_str(), t, unranked ? std::vector<int64_t>{} : dims_of(dims), constant,
                   kNoIndex, 0, unranked);
  };
  const auto packed = [&](const std::string& name, DType t, DType element) {
    non_tensor = true;
    return p.packed(name.c_str(),
                    t == DType::kSequence   ? fbs::ValueKind::Sequence
                    : t == DType::kOptional ? fbs::ValueKind::Optional
                                            : fbs::ValueKind::OptionalSequence,
                    element);
  };
  std::vector<uint32_t> ids, ports, made;
  for (const OpInput& in : c.in) {
    const std::string x = numbered('x', ids.size());
    switch (in.from) {
      case From::kAbsent: ids.push_back(kNoIndex); continue;
      case From::kAlias: ids.push_back(ids[static_cast<size_t>(in.alias_of)]); continue;
      case From::kConstant: {
        std::vector<uint8_t> bytes = bytes_of(in);
        if (in.dtype == DType::kString) {
          std::vector<std::string> strings;
          for (size_t i = 0, n = static_cast<size_t>(numel(in.shape)); i < n; ++i)
            strings.push_back(in.strings.empty() ? "s" : in.strings[i % in.strings.size()]);
          bytes = test::packed_strings(strings);
          non_tensor = true;
        }
        const uint32_t constant = p.constant_only(
            "c", std::vector<int64_t>(in.shape.begin(), in.shape.end()), bytes, 0, in.dtype);
        ids.push_back(declared("c", in.declared, in.dims, false, constant));
        continue;
      }
      case From::kCaller:
        ids.push_back(
            is_container(in.dtype)
                ? packed(x, in.dtype,
                         in.values.size() > 24 ? static_cast<DType>(in.values[24]) : DType::kI64)
                : declared(x, in.declared, in.dims, in.unranked));
        ports.push_back(ids.back());
    }
  }
  for (const OpOutput& out : c.out) {
    const std::string y = numbered('y', made.size());
    made.push_back(is_container(out.declared) ? packed(y, out.declared, out.element)
                                              : declared(y, out.declared, out.dims, out.unranked));
  }
  p.node_of(c.op->id, *c.op->attrs, c.attrs.get(), ids, made, "n");
  p.entry("main", ports, made);
  return p.finish(non_tensor ? uint64_t{kFeatureNonTensor} : 0);
}

std::string to_text(const OpCase& c) {
  std::string text = fmt::format("{} (", c.op->name);
  for (const AttrField& f : c.op->attrs->fields) {
    if (attr_is_default(*c.op->attrs, f, c.attrs.get())) continue;
    AnyAttrs attrs = c.attrs;
    text += fmt::format(" {}=", f.name);
    if (f.kind == AttrKind::kFloat) text += fmt::format("{}", attr_float(f, attrs.get()));
    if (f.kind == AttrKind::kInt) text += fmt::format("{}", attr_int(f, attrs.get()));
    if (is_list(f.kind)) {
      text += "[";
      for (int64_t v : attr_ints(f, attrs.get())) text += fmt::format("{} ", v);
      text += "]";
    }
  }
  text += " )";
  static const char* const kFrom[] = {"absent", "constant", "caller", "the same as "};
  for (const OpInput& in : c.in) {
    text += fmt::format("\n  in {}", kFrom[static_cast<int>(in.from)]);
    if (in.from == From::kAlias) text += fmt::format("{}", in.alias_of);
    if (in.from == From::kAbsent || in.from == From::kAlias) continue;
    text += fmt::format(" {}{} as {}{} =", dtype_name(in.dtype), wick::to_text(in.shape).text,
                        in.unranked ? "unranked " : "", dtype_name(in.declared));
    for (size_t i = 0; i < in.values.size() && i < 12; ++i)
      text += fmt::format(" {}", in.values[i]);
    for (size_t i = 0; i < in.strings.size() && i < 4; ++i)
      text += fmt::format(" \"{}\"", in.strings[i]);
  }
  for (const OpOutput& out : c.out) {
    text += fmt::format("\n  out {}{}", out.unranked ? "unranked " : "", dtype_name(out.declared));
    if (out.unranked) continue;
    for (int64_t d : out.dims) text += fmt::format(" {}", d);
  }
  return text + "\n";
}

}  // namespace wick::fuzz
