#include "tools/wick/arrays.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "tools/wick/command.h"
#include "tools/wick/model.h"
#include "trainer/data/npy.h"
#include "wick/error.h"

namespace wick::tool {

HostTensor read_array(const std::string& path) {
  data::HostArray a = data::read_npy(path);
  return HostTensor(a.dtype, a.shape, a.bytes.data(), a.bytes.size());
}

void write_array(const std::string& path, const HostTensor& tensor) {
  data::write_npy(path, tensor.view());
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
    arrays[static_cast<size_t>(at)] = read_array(named ? text.substr(equals + 1) : text);
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
  int64_t shown = std::min(tensor.numel(), kPreview);
  for (int64_t i = 0; i < shown; ++i)
    text += fmt::format("{}{:.6g}", i == 0 ? "" : " ", element_as_double(tensor, i));
  return text + (shown < tensor.numel() ? " ..." : "");
}

}  // namespace wick::tool
