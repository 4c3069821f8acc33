#include "tools/wick/arrays.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "exporter/onnx/onnx.h"
#include "graph/ir/packed.h"
#include "tools/wick/command.h"
#include "tools/wick/model.h"
#include "trainer/data/npy.h"
#include "wick/error.h"

namespace wick::tool {

namespace {

HostTensor read_pb(const std::string& path, const PortInfo& port) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot open '" + path + "'", Code::kIo);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return read_onnx_data(bytes, port.dtype, port.element, path);
}

}  // namespace

HostTensor read_array(const std::string& path) {
  data::HostArray a = data::read_npy(path);
  return HostTensor(a.dtype, a.shape, a.bytes.data(), a.bytes.size());
}

void write_array(const std::string& path, const HostTensor& tensor) {
  data::write_npy(path, tensor.view());
}

HostTensor read_value(const std::string& path, const PortInfo& port) {
  if (ends_with(path, ".pb")) return read_pb(path, port);
  if (is_container(port.dtype)) {
    throw Error(fmt::format("'{}': input {} is no tensor: give a .pb file of ONNX's "
                            "({} of {})",
                            path, port.name, dtype_name(port.dtype), dtype_name(port.element)),
                Code::kTypeMismatch);
  }
  return read_array(path);
}

std::string write_value(const std::string& path, const HostTensor& value) {
  if (!is_container(value.dtype())) {
    write_array(path + ".npy", value);
    return path + ".npy";
  }
  write_text(path + ".pb", write_onnx_data(value, std::filesystem::path(path).filename().string()));
  return path + ".pb";
}

std::vector<HostTensor> named_arrays(const Session& session, const Program& program,
                                     const std::vector<std::string>& given) {
  std::vector<HostTensor> arrays(session.input_count());
  if (given.empty() && !arrays.empty()) {
    wrong_usage("--input", fmt::format("is required: the model takes {} {}{}",
                                       session.input(0).name, dtype_name(session.input(0).dtype),
                                       dims_text(program, session.input(0))));
  }
  size_t next = 0;
  for (const std::string& text : given) {
    size_t equals = text.find('=');
    bool named = equals != std::string::npos && !std::filesystem::exists(text);
    int at = named ? session.find_input(text.substr(0, equals).c_str()) : static_cast<int>(next);
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
    arrays[static_cast<size_t>(at)] =
        read_value(named ? text.substr(equals + 1) : text, session.input(static_cast<size_t>(at)));
    next = static_cast<size_t>(at) + 1;
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    PortInfo port = session.input(i);
    if (!arrays[i].present()) {
      throw Error(fmt::format("input '{}' {}{} is missing: --input {}=file.npy", port.name,
                              dtype_name(port.dtype), dims_text(program, port), port.name),
                  Code::kNotFound);
    }
  }
  return arrays;
}

namespace {

std::string file_name(const std::string& tensor_name) {
  std::string name = tensor_name.empty() ? "output" : tensor_name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
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

constexpr int64_t kPreview = 10;

nlohmann::json preview_json(const HostTensor& tensor) {
  auto values = nlohmann::json::array();
  if (is_container(tensor.dtype())) {
    for (const HostTensor& t : unpack(tensor).elements) values.push_back(preview_json(t));
    return values;
  }
  for (int64_t i = 0; i < std::min(tensor.numel(), kPreview); ++i) {
    if (tensor.dtype() == DType::kI64)
      values.push_back(tensor.as<int64_t>()[i]);
    else
      values.push_back(element_as_double(tensor, i));
  }
  return values;
}

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
  int64_t shown = std::min(tensor.numel(), kPreview);
  for (int64_t i = 0; i < shown; ++i)
    text += fmt::format("{}{:.6g}", i == 0 ? "" : " ", element_as_double(tensor, i));
  return text + (shown < tensor.numel() ? " ..." : "");
}

}  // namespace wick::tool
