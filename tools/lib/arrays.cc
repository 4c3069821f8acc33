#include "tools/lib/arrays.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "exporter/onnx/onnx.h"
#include "graph/ir/packed.h"
#include "runtime/core/half.h"
#include "runtime/core/int_at.h"
#include "runtime/core/printable.h"
#include "runtime/core/regular_file.h"
#include "runtime/core/utf8.h"
#include "tools/lib/model.h"
#include "tools/lib/text.h"
#include "tools/lib/usage.h"
#include "trainer/checkpoint/json.h"
#include "trainer/data/npy.h"
#include "wick/error.h"

namespace wick::tool {

namespace {

HostTensor read_pb(const std::string& path, const PortInfo& port) {
  std::string bytes;
  check_status(read_regular_file(path.c_str(), &bytes));
  return read_onnx_data(bytes, port.dtype, port.element, path);
}

// Flattens nested lists of strings. The first list of each level gives the size; all others must
// have it.
void flatten(const nlohmann::json& from, size_t level, Shape* shape,
             std::vector<std::string>* strings) {
  if (from.is_string()) {
    if (level != static_cast<size_t>(shape->rank())) throw Error("its lists have several depths");
    strings->push_back(from.get<std::string>());
    return;
  }
  if (!from.is_array() || level >= static_cast<size_t>(kMaxRank))
    throw Error("it is no list of strings of at most 8 dimensions");
  const auto size = static_cast<int64_t>(from.size());
  if (static_cast<int>(level) == shape->rank()) {
    if (!strings->empty()) throw Error("its lists have several depths");
    shape->push_back(size);
  }
  if ((*shape)[static_cast<int>(level)] != size) throw Error("its lists have several lengths");
  for (const auto& part : from) flatten(part, level + 1, shape, strings);
}

// Reads ["a", "b"], nested as the tensor is, or {"shape": [0, 2], "strings": []}.
HostTensor read_strings(const std::string& path) {
  std::string text;
  check_status(read_regular_file(path.c_str(), &text));
  try {
    const auto json = read_json(text, "its JSON");
    Shape shape;
    std::vector<std::string> strings;
    if (!json.is_object()) {
      flatten(json, 0, &shape, &strings);
    } else {
      const JsonPlace place(json, "its JSON"), dims = place.at("shape"), all = place.at("strings");
      if (dims.size() > kMaxRank) dims.refuse("a list of at most 8 sizes");
      for (size_t i = 0; i < dims.size(); ++i) shape.push_back(dims.at(i).integer(0, INT64_MAX));
      for (size_t i = 0; i < all.size(); ++i) strings.push_back(all.at(i).text());
    }
    auto bytes = checked_bytes(shape, dtype_bits(DType::kString));
    if (!bytes.ok() || *bytes != strings.size() * sizeof(StringRef))
      throw Error(fmt::format("{} strings do not fill its shape", strings.size()));
    return HostTensor::strings(shape, strings);
  } catch (const std::exception& e) {
    throw Error(fmt::format("{}: {}", path, e.what()), Code::kInvalidArgument);
  }
}

// Bytes that are not UTF-8 are written as U+FFFD: JSON has no other form for them.
void write_strings(const std::string& path, const HostTensor& tensor) {
  nlohmann::json json;
  json["shape"] = std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end());
  json["strings"] = nlohmann::json::array();
  for (int64_t i = 0; i < tensor.numel(); ++i) json["strings"].push_back(tensor.string_at(i));
  write_text(path, json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

HostTensor read_array(const std::string& path) {
  if (path.ends_with(".json")) return read_strings(path);
  data::HostArray a = data::read_npy(path);
  return HostTensor(a.dtype, a.shape, a.bytes.data(), a.bytes.size());
}

std::string cast_text(DType dtype) {
  // numpy has no bfloat16; as_given() takes float32 for it.
  return fmt::format("save it with .astype('{}')",
                     dtype_name(dtype == DType::kBF16 ? DType::kF32 : dtype));
}

const char* array_suffix(DType dtype) { return dtype == DType::kString ? ".json" : ".npy"; }

void write_array(const std::string& path, const HostTensor& tensor) {
  if (tensor.dtype() == DType::kString) return write_strings(path, tensor);
  data::write_npy(path, as_numpy(tensor).view());
}

HostTensor as_numpy(const HostTensor& tensor) {
  if (tensor.dtype() != DType::kBF16) return tensor;
  HostTensor wide(DType::kF32, tensor.shape());
  for (int64_t i = 0; i < tensor.numel(); ++i)
    wide.as<float>()[i] = static_cast<float>(tensor.as<BFloat16>()[i]);
  return wide;
}

HostTensor as_given(HostTensor array, DType dtype, const std::string& what) {
  if (dtype != DType::kBF16 || array.dtype() != DType::kF32) return array;
  HostTensor rounded(DType::kBF16, array.shape());
  bool exact = true;
  for (int64_t i = 0; i < array.numel(); ++i) {
    const float from = array.as<float>()[i];
    rounded.as<BFloat16>()[i] = BFloat16(from);
    exact = exact && (static_cast<float>(rounded.as<BFloat16>()[i]) == from || std::isnan(from));
  }
  if (!exact)
    fmt::print(stderr, "wick: note: {} is float32: it is rounded to bfloat16\n", one_line(what));
  return rounded;
}

HostTensor read_value(const std::string& path, const PortInfo& port) {
  if (path.ends_with(".pb")) return read_pb(path, port);
  if (is_container(port.dtype)) {
    throw Error(fmt::format("'{}': input {} is no tensor: give a .pb file of ONNX's "
                            "({} of {})",
                            path, port.name, dtype_name(port.dtype), dtype_name(port.element)),
                Code::kTypeMismatch);
  }
  return as_given(read_array(path), port.dtype, fmt::format("'{}'", path));
}

std::string write_value(const std::string& path, const HostTensor& value) {
  if (!is_container(value.dtype())) {
    std::string file = path + array_suffix(value.dtype());
    write_array(file, value);
    return file;
  }
  write_text(path + ".pb", write_onnx_data(value, std::filesystem::path(path).filename().string()));
  return path + ".pb";
}

namespace {

// The session reports an array that does not fit too, but knows neither its file nor its user.
void check_fits(const HostTensor& array, const std::string& file, const Program& program,
                const PortInfo& port) {
  if (is_container(port.dtype)) return;
  bool fits = port.unranked || static_cast<size_t>(array.shape().rank()) == port.dims.size();
  for (int d = 0; fits && !port.unranked && d < array.shape().rank(); ++d) {
    const DimDef& dim = port.dims[static_cast<size_t>(d)];
    fits = dim.symbol >= 0 || dim.value == array.shape()[d];
  }
  if (fits && array.dtype() == port.dtype) return;
  const bool cast = fits && array.dtype() != DType::kString && port.dtype != DType::kString;
  throw Error(fmt::format("'{}' is {}{}; input {} takes {}{}{}", file, dtype_name(array.dtype()),
                          to_text(array.shape()).text, port.name, dtype_name(port.dtype),
                          dims_text(program, port), cast ? ": " + cast_text(port.dtype) : ""),
              fits ? Code::kTypeMismatch : Code::kShapeMismatch);
}

}  // namespace

std::vector<HostTensor> given_arrays(const Session& session, const Program& program,
                                     const std::vector<std::string>& given) {
  std::vector<HostTensor> arrays(session.input_count());
  size_t next = 0;
  for (const std::string& text : given) {
    size_t equals = text.find('=');
    bool named = equals != std::string::npos && !std::filesystem::exists(text);
    int at = named ? -1 : static_cast<int>(next);
    for (size_t end = equals; named && at < 0 && end != std::string::npos;
         end = text.find('=', end + 1)) {  // a name may have one, too
      at = session.find_input(text.substr(0, end).c_str());
      equals = end;
    }
    if (at < 0 || static_cast<size_t>(at) >= arrays.size()) {
      std::string names;
      for (size_t i = 0; i < session.input_count(); ++i)
        names += fmt::format(" {}", session.input(i).name);
      throw Error(fmt::format("there is no input for '{}'; the model's inputs:{}", text, names),
                  Code::kNotFound);
    }
    if (arrays[static_cast<size_t>(at)].present()) {
      throw Error(fmt::format("input '{}' is given twice, the second time by '{}'",
                              session.input(static_cast<size_t>(at)).name, text));
    }
    const std::string file = named ? text.substr(equals + 1) : text;
    const PortInfo port = session.input(static_cast<size_t>(at));
    arrays[static_cast<size_t>(at)] = read_value(file, port);
    check_fits(arrays[static_cast<size_t>(at)], file, program, port);
    next = static_cast<size_t>(at) + 1;
  }
  return arrays;
}

std::vector<HostTensor> named_arrays(const Session& session, const Program& program,
                                     const std::vector<std::string>& given) {
  if (given.empty() && session.input_count() > 0) {
    wrong_usage("--input", fmt::format("is required: the model takes {} {}{}",
                                       session.input(0).name, dtype_name(session.input(0).dtype),
                                       dims_text(program, session.input(0))));
  }
  std::vector<HostTensor> arrays = given_arrays(session, program, given);
  for (size_t i = 0; i < arrays.size(); ++i) {
    PortInfo port = session.input(i);
    if (!arrays[i].present()) {
      throw Error(fmt::format("input '{}' {}{} is missing: --input {}=file{}", port.name,
                              dtype_name(port.dtype), dims_text(program, port), port.name,
                              array_suffix(port.dtype)),
                  Code::kNotFound);
    }
  }
  return arrays;
}

namespace {

// Keeps letters and digits of every script. What a terminal would not print, and what a shell or a
// path takes for something else, becomes an underscore.
std::string file_name(const std::string& tensor_name) {
  constexpr size_t kLongest = 200;  // of the 255 bytes that a name may have, without its ending
  std::string name;
  for (size_t at = 0; at < tensor_name.size() && name.size() <= kLongest - 4;) {
    const char* const text = tensor_name.data() + at;
    const CodePoint c = code_point(text, tensor_name.size() - at);
    const bool kept =
        c.value < 0x80
            ? std::isalnum(static_cast<int>(c.value)) != 0 || *text == '.' || *text == '-'
            : next_printable(text, tensor_name.size() - at).escape[0] == '\0';
    name += kept ? tensor_name.substr(at, c.bytes) : "_";
    at += c.bytes;
  }
  if (name.empty()) return "output";
  return name[0] == '.' ? "_" + name : name;
}

}  // namespace

std::vector<std::string> file_names(const std::vector<std::string>& tensor_names) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const std::string& tensor : tensor_names) {
    std::string plain = file_name(tensor), name = plain;
    for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}_{}", plain, n);
    names.push_back(name);
  }
  return names;
}

std::string top_label(const Program& program, const HostTensor& output) {
  const Shape& s = output.shape();
  size_t classes = program.labels().size();
  if (classes == 0 || s.rank() == 0 || s[s.rank() - 1] != static_cast<int64_t>(classes) ||
      output.numel() == 0 || output.dtype() != DType::kF32) {
    return "";
  }
  size_t best = 0;
  for (size_t i = 1; i < classes; ++i) {
    if (output.as<float>()[i] > output.as<float>()[best]) best = i;
  }
  return program.labels()[best];
}

namespace {

std::string element_text(const HostTensor& t, int64_t i) {
  if (t.dtype() == DType::kString) return fmt::format("\"{}\"", t.string_at(i));
  if (t.dtype() == DType::kU64) return std::to_string(t.as<uint64_t>()[i]);
  if (is_int(t.dtype())) return std::to_string(int_at(t.view(), i));  // every digit
  const double v = element_as_double(t, i);
  return std::isnan(v) ? "nan" : fmt::format("{:.6g}", v);  // not -nan
}

}  // namespace

std::string preview(const HostTensor& tensor) {
  std::string text;
  if (is_container(tensor.dtype())) {
    const Unpacked u = unpack(tensor);
    text =
        u.present ? fmt::format("{} of {}:", u.elements.size(), dtype_name(u.element)) : "absent";
    const size_t all = u.elements.size();
    for (size_t i = 0; i < std::min<size_t>(all, kPreview); ++i)
      text += fmt::format(" {}", to_text(u.elements[i].shape()).text);
    return text + (all > kPreview ? " ..." : "");
  }
  const HostTensor parts = complex_parts(tensor);
  const bool complex = parts.dtype() != tensor.dtype();
  int64_t shown = std::min(tensor.numel(), kPreview);
  for (int64_t i = 0; i < shown; ++i) {
    if (i != 0) text += " ";
    text += complex ? fmt::format("{}{:+.6g}i", element_text(parts, 2 * i),
                                  element_as_double(parts, 2 * i + 1))
                    : element_text(tensor, i);
  }
  return text + (shown < tensor.numel() ? " ..." : "");
}

}  // namespace wick::tool
