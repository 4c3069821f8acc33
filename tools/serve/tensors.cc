#include "tools/serve/tensors.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/core/half.h"
#include "tools/serve/options.h"

namespace wick::serve {
namespace {

using Json = nlohmann::json;

// Calls f(T{}) with the C++ type of a dtype's elements. Strings and dtypes without a name in the
// protocol never get here.
template <class F>
void with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32: return f(float{});
    case DType::kF64: return f(double{});
    case DType::kF16: return f(Half{});
    case DType::kBF16: return f(BFloat16{});
    case DType::kI8: return f(int8_t{});
    case DType::kI16: return f(int16_t{});
    case DType::kI32: return f(int32_t{});
    case DType::kI64: return f(int64_t{});
    case DType::kU8: return f(uint8_t{});
    case DType::kU16: return f(uint16_t{});
    case DType::kU32: return f(uint32_t{});
    case DType::kU64: return f(uint64_t{});
    case DType::kBool: return f(bool{});
    default: throw Error(fmt::format("{} is no type of the protocol", dtype_name(dtype)));
  }
}

// Returns whether the value is a number that the type holds; floats are rounded to it.
template <class T>
bool read_number(const Json& v, T* to) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!v.is_boolean()) return false;
    *to = v.get<bool>();
    return true;
  } else if constexpr (std::is_integral_v<T>) {
    // nlohmann's own conversions wrap.
    if (v.is_number_unsigned()) {
      const uint64_t n = v.get<uint64_t>();
      *to = static_cast<T>(n);
      return n <= static_cast<uint64_t>(std::numeric_limits<T>::max());
    }
    if (!v.is_number_integer()) return false;
    const int64_t n = v.get<int64_t>();  // below zero
    *to = static_cast<T>(n);
    return std::is_signed_v<T> && n >= static_cast<int64_t>(std::numeric_limits<T>::min());
  } else {
    if (!v.is_number()) return false;
    const double d = v.get<double>();
    if constexpr (std::is_same_v<T, double>) {
      *to = d;
    } else {
      if (!(std::fabs(d) < 0x1.ffffffp127)) return false;  // it would round to an infinity
      *to = T(static_cast<float>(d));
      return std::isfinite(static_cast<float>(*to));
    }
    return true;
  }
}

// Walks values in row-major order, through lists that are nested as the shape says or not at all.
template <class F>
void each_value(const std::string& where, const Json& data, const Shape& shape, int dim, F&& f) {
  const bool flat = dim == 0 && (data.empty() || !data[0].is_array());
  if (!flat && shape.rank() == 0)
    throw Refused(400, fmt::format("{}: data has lists, its shape [] is one value", where));
  const int64_t want = flat ? numel(shape) : shape[dim];
  if (static_cast<int64_t>(data.size()) != want) {
    throw Refused(400, fmt::format("{}: data has a list of {} values where its shape {} says {}",
                                   where, data.size(), to_text(shape).text, want));
  }
  if (flat || dim + 1 == shape.rank()) {
    for (const Json& v : data) f(v);
    return;
  }
  for (const Json& part : data) {
    if (!part.is_array()) {
      throw Refused(400, fmt::format("{}: data has {} among lists of dim {} of its shape {}", where,
                                     shown(part), dim, to_text(shape).text));
    }
    each_value(where, part, shape, dim + 1, f);
  }
}

// Returns how many values a list holds, at any depth: what a tensor may need memory for.
int64_t count_values(const Json& data) {
  if (!data.is_array()) return 1;
  if (data.empty() || !data[0].is_array()) return static_cast<int64_t>(data.size());
  int64_t n = 0;
  for (const Json& part : data) n += count_values(part);
  return n;
}

[[noreturn]] void refuse_value(const std::string& where, DType dtype, const Json& value) {
  throw Refused(
      400, fmt::format("{}: data has {}, which is no {}", where, shown(value), datatype_of(dtype)));
}

std::string bytes_text(uint64_t n) { return fmt::format("{} byte{}", n, n == 1 ? "" : "s"); }

// Each takes ten times the bytes of an empty one in a request.
constexpr int64_t kMostStrings = int64_t{1} << 20;

HostTensor strings_of_bytes(const std::string& where, const Shape& shape, std::string_view bytes) {
  std::vector<std::string> strings;
  const int64_t want = numel(shape);
  if (want > kMostStrings) {
    throw Refused(413, fmt::format("{}: its shape {} has {} strings, at most {} are read", where,
                                   to_text(shape).text, want, kMostStrings));
  }
  for (int64_t i = 0; i < want; ++i) {
    uint32_t size = 0;
    const bool length = bytes.size() >= sizeof size;
    if (length) memcpy(&size, bytes.data(), sizeof size);
    if (!length || bytes.size() - sizeof size < size) {
      throw Refused(400, fmt::format("{}: its bytes end within string {} of {}", where, i, want));
    }
    strings.emplace_back(bytes.substr(sizeof size, size));
    bytes.remove_prefix(sizeof size + size);
  }
  if (!bytes.empty()) {
    throw Refused(400, fmt::format("{}: {} are left behind its {} strings", where,
                                   bytes_text(bytes.size()), want));
  }
  return HostTensor::strings(shape, strings);
}

template <class T>
void append_number(T v, std::string* to) {
  if constexpr (std::is_same_v<T, bool>) {
    *to += v ? "true" : "false";
  } else {
    char text[32];
    char* const end = std::to_chars(text, text + sizeof text, v).ptr;
    const std::string_view digits(text, static_cast<size_t>(end - text));
    *to += digits;
    // A whole number keeps its type, and -0 its sign.
    if (std::is_floating_point_v<T> && digits.find_first_of(".e") == std::string_view::npos)
      *to += ".0";
  }
}

}  // namespace

const char* datatype_of(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "BOOL";
    case DType::kU8: return "UINT8";
    case DType::kU16: return "UINT16";
    case DType::kU32: return "UINT32";
    case DType::kU64: return "UINT64";
    case DType::kI8: return "INT8";
    case DType::kI16: return "INT16";
    case DType::kI32: return "INT32";
    case DType::kI64: return "INT64";
    case DType::kF16: return "FP16";
    case DType::kBF16: return "BF16";
    case DType::kF32: return "FP32";
    case DType::kF64: return "FP64";
    case DType::kString: return "BYTES";
    default: return nullptr;
  }
}

HostTensor tensor_of_bytes(const std::string& where, DType dtype, const Shape& shape,
                           std::string_view bytes) {
  if (dtype == DType::kString) return strings_of_bytes(where, shape, bytes);
  const Result<size_t> want = checked_bytes(shape, dtype_bits(dtype));
  if (!want.ok() || bytes.size() != want.value()) {
    throw Refused(400,
                  fmt::format("{}: {} of binary data, its shape {} of {} needs {}", where,
                              bytes_text(bytes.size()), to_text(shape).text, datatype_of(dtype),
                              want.ok() ? std::to_string(want.value()) : "more"));
  }
  if (dtype == DType::kBool) {
    for (const char c : bytes) {
      if (c != 0 && c != 1)
        throw Refused(400, fmt::format("{}: a BOOL is the byte 0 or 1, not {}", where,
                                       static_cast<int>(static_cast<uint8_t>(c))));
    }
  }
  return HostTensor(dtype, shape, bytes.data(), bytes.size());
}

HostTensor tensor_of_json(const std::string& where, DType dtype, const Shape& shape,
                          const Json& data) {
  if (!data.is_array())
    throw Refused(400, fmt::format("{}: data is {}; it must be a list", where, shown(data)));
  if (count_values(data) != numel(shape)) {
    throw Refused(400, fmt::format("{}: data has {} values, its shape {} needs {}", where,
                                   count_values(data), to_text(shape).text, numel(shape)));
  }
  if (dtype == DType::kString) {
    std::vector<std::string> strings;
    each_value(where, data, shape, 0, [&](const Json& v) {
      if (!v.is_string()) refuse_value(where, dtype, v);
      strings.push_back(v.get_ref<const std::string&>());
    });
    return HostTensor::strings(shape, strings);
  }
  HostTensor tensor(dtype, shape);
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    T* to = tensor.as<T>();
    each_value(where, data, shape, 0, [&](const Json& v) {
      if (!read_number(v, to++)) refuse_value(where, dtype, v);
    });
  });
  return tensor;
}

void append_bytes(const HostTensor& tensor, std::string* to) {
  if (tensor.dtype() != DType::kString) {
    to->append(static_cast<const char*>(tensor.data()), tensor.nbytes());
    return;
  }
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const StringRef& s = tensor.as<StringRef>()[i];
    const auto size = static_cast<uint32_t>(s.size);
    if (size != s.size) throw Refused(422, "a string of 4 GiB or more");
    to->append(reinterpret_cast<const char*>(&size), sizeof size);
    to->append(s.data, size);
  }
}

void append_json(const std::string& where, const HostTensor& tensor, std::string* to) {
  *to += '[';
  const int64_t n = tensor.numel();
  if (tensor.dtype() == DType::kString) {
    for (int64_t i = 0; i < n; ++i) {
      if (i > 0) *to += ',';
      try {
        *to += Json(tensor.string_at(i)).dump();
      } catch (const Json::exception&) {
        throw Refused(422, where + ": a string is no UTF-8, as JSON needs it: ask for binary data");
      }
    }
    *to += ']';
    return;
  }
  with_type(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* from = tensor.as<T>();
    for (int64_t i = 0; i < n; ++i) {
      if (i > 0) *to += ',';
      if constexpr (std::is_integral_v<T>) {
        append_number(from[i], to);
      } else {
        const auto v = [&] {
          if constexpr (std::is_floating_point_v<T>)
            return from[i];
          else
            return static_cast<float>(from[i]);
        }();
        if (!std::isfinite(v)) {
          throw Refused(422, fmt::format("{}: element {} is {}, which JSON cannot hold: ask for "
                                         "binary data",
                                         where, i, std::isnan(v) ? "NaN" : "infinite"));
        }
        append_number(v, to);
      }
    }
  });
  *to += ']';
}

}  // namespace wick::serve
