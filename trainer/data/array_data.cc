#include "trainer/data/array_data.h"

#include <algorithm>
#include <map>

#include "trainer/checkpoint/safetensors.h"
#include "trainer/data/npz.h"

namespace wick::data {
namespace {

// `there` are the names of all tensors of the file, of which `all` has at least those wanted.
std::shared_ptr<TensorDataset> pick(const char* op, const std::string& path,
                                    const nn::NamedTensors& all,
                                    const std::vector<std::string>& there,
                                    const std::vector<std::string>& names, const Where& where) {
  const std::map<std::string, Tensor> named(all.begin(), all.end());
  std::vector<Tensor> fields;
  for (const std::string& name : names) {
    if (auto at = named.find(name); at != named.end()) {
      fields.push_back(at->second);
      continue;
    }
    std::string known;
    for (const std::string& each : there) known += (known.empty() ? "" : ", ") + each;
    throw_error(op, path + " has no '" + name + "'; it has " + known, where, Code::kNotFound);
  }
  try {
    return std::make_shared<TensorDataset>(fields, where);
  } catch (const Error& e) {
    throw Error(std::string("[") + op + "] " + path + ": " + e.what(), e.code());
  }
}

}  // namespace

std::shared_ptr<TensorDataset> safetensors_dataset(const std::string& path,
                                                   const std::vector<std::string>& names,
                                                   Where where) {
  const nn::NamedTensors all = load_safetensors(path).tensors;
  std::vector<std::string> there;
  for (const auto& [name, tensor] : all) there.push_back(name);
  return pick("safetensors_dataset", path, all, there, names, where);
}

std::shared_ptr<TensorDataset> npz_dataset(const std::string& path,
                                           const std::vector<std::string>& names, Where where) {
  nn::NamedTensors all;
  std::vector<std::string> there;
  const auto wanted = [&](const std::string& name, DType, const Shape&) {
    there.push_back(name);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& [name, array] : read_npz(path, kDefaultArrayBudget, wanted)) {
    all.emplace_back(name, from_blob(array.bytes.data(), array.shape, array.dtype, where));
  }
  return pick("npz_dataset", path, all, there, names, where);
}

}  // namespace wick::data
