#include "tools/lib/calibration_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "tools/lib/arrays.h"
#include "tools/lib/model.h"
#include "tools/lib/sample_inputs.h"
#include "tools/lib/text.h"
#include "trainer/data/image/images.h"
#include "trainer/data/npz.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;
using quantize::Batch;

constexpr int64_t kUsualImages = 512, kTestBatch = 250;
constexpr const char* kLabels = "labels";

std::string quoted(const std::string& file) { return "'" + file + "'"; }
// Returns the items of at most so many batches, without overflow.
int64_t items_of(int64_t batches, int64_t batch, int64_t there) {
  return batches > there / batch ? there : batches * batch;
}

std::string type_of(const HostTensor& t) {
  return fmt::format("{}{}", dtype_name(t.dtype()), to_text(t.shape()).text);
}
std::string type_of(const ir::Value& v) {
  return fmt::format("{}{}", dtype_name(v.dtype), v.ranked ? shape_text(v.shape) : "[?]");
}

// Throws Error if `array` cannot be this input of the model. `what` is the quoted file, and where
// in it.
void check_array(const HostTensor& array, const std::string& what, const ir::Value& input) {
  const std::string is = fmt::format("{} is {}", what, type_of(array)),
                    takes = fmt::format("; input {} takes {}", input.name, type_of(input));
  bool fits = !input.ranked || array.shape().rank() == input.shape.rank();
  for (int d = 0; fits && input.ranked && d < input.shape.rank(); ++d)
    fits = !input.shape[d].known() || input.shape[d].constant() == array.shape()[d];
  if (!fits) throw Error(is + takes, Code::kShapeMismatch);
  if (array.dtype() != input.dtype) {
    throw Error(fmt::format("{}{}: {}", is, takes, cast_text(input.dtype)), Code::kTypeMismatch);
  }
  // No items are a fault; an empty past among items is what a first call has.
  if (array.numel() == 0 && array.shape()[0] == 0)
    throw Error(fmt::format("{}: it has no numbers", is), Code::kInvalidArgument);
  if (array.dtype() != DType::kF32 && array.dtype() != DType::kBF16) return;
  for (int64_t i = 0; i < array.numel(); ++i) {
    const double v = element_as_double(array, i);
    if (std::isfinite(v)) continue;
    throw Error(fmt::format("{}: element {} is {}; only finite numbers can be calibrated with",
                            what, i, std::isnan(v) ? "NaN" : "infinite"),
                Code::kInvalidArgument);
  }
}

HostTensor host(const data::HostArray& a) {
  return {a.dtype, a.shape, a.bytes.data(), a.bytes.size()};
}

// Returns rows [from, from + count) along the first dimension.
HostTensor rows(const HostTensor& t, int64_t from, int64_t count) {
  Shape s = t.shape();
  const size_t each = t.nbytes() / static_cast<size_t>(s[0]);
  s[0] = count;
  return {t.dtype(), s, static_cast<const char*>(t.data()) + each * static_cast<size_t>(from),
          each * static_cast<size_t>(count)};
}

std::vector<int64_t> read_labels(const HostTensor& t, const std::string& what) {
  if (t.shape().rank() != 1 || is_float(t.dtype()) || t.dtype() == DType::kString)
    throw Error(
        fmt::format("{} is {}; labels are whole numbers in one dimension", what, type_of(t)),
        Code::kTypeMismatch);
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < t.numel(); ++i)
    labels.push_back(static_cast<int64_t>(element_as_double(t, i)));
  return labels;
}

std::vector<const ir::Value*> inputs_of(const ir::Graph& g) {
  std::vector<const ir::Value*> inputs;
  for (ir::ValueId v : g.inputs()) inputs.push_back(&g.value(v));
  return inputs;
}
std::string names_of(const std::vector<const ir::Value*>& inputs) {
  std::string names;
  for (const ir::Value* v : inputs) names += (names.empty() ? "" : ", ") + v->name;
  return names;
}

// Compares numbers in names by value: 2 before 10, as labels are counted.
bool natural_less(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  // Returns a run of digits without its leading zeros; moves `at` behind it.
  const auto number = [&](const std::string& s, size_t* at) {
    size_t from = *at;
    while (*at < s.size() && digit(s[*at])) ++*at;
    while (from + 1 < *at && s[from] == '0') ++from;
    return s.substr(from, *at - from);
  };
  size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (digit(a[i]) && digit(b[k])) {
      const std::string m = number(a, &i), n = number(b, &k);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
    } else if (a[i] != b[k]) {
      return a[i] < b[k];
    } else {
      ++i, ++k;
    }
  }
  const size_t rest_a = a.size() - i, rest_b = b.size() - k;
  return rest_a != rest_b ? rest_a < rest_b : a < b;
}

// Refuses anything that a read would wait for, such as a pipe.
void check_regular(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    throw Error(quoted(file.string()) + " is no regular file", Code::kIo);
}

std::vector<std::string> arrays_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".npy" || entry.path().filename() == "labels.npy") continue;
    check_regular(entry.path());
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end(), natural_less);
  return files;
}

// -- images of a data set
struct Images {
  std::shared_ptr<data::ImageDataset> set;
  data::Normalization normalization;
  int64_t count = 0, wanted = 0, batch = 0;
  std::string input;
  DType dtype = DType::kNone;
  Shape item;  // without the batch

  // Spreads the images over the whole set, which may be sorted.
  int64_t index(int64_t i) const { return i * count / wanted; }

  Batch get(int64_t number) const {
    const int64_t from = number * batch, n = std::min(batch, wanted - from);
    Shape s{n};
    for (int64_t d : item) s.push_back(d);
    HostTensor t(dtype, s);
    const int64_t area = set->images().numel() / count;
    for (int64_t k = 0; k < n; ++k) {
      const uint8_t* image = set->images().as<uint8_t>() + index(from + k) * area;
      if (dtype == DType::kU8) {
        std::memcpy(t.as<uint8_t>() + k * area, image, static_cast<size_t>(area));
      } else {
        for (int64_t i = 0; i < area; ++i)
          t.as<float>()[k * area + i] = data::normalize(image[i], normalization);
      }
    }
    return {{input, t}};
  }
  std::vector<int64_t> labels(int64_t number) const {
    std::vector<int64_t> all;
    for (int64_t i = number * batch; i < std::min(wanted, (number + 1) * batch); ++i)
      all.push_back(set->labels().as<uint8_t>()[index(i)]);
    return all;
  }
};

InputData images(const ir::Graph& g, const std::string& name, const DataOptions& o) {
  const data::ImageData all = data::open_images(name);
  const auto inputs = inputs_of(g);
  Images im;
  im.set = o.test ? all.test : all.train;
  im.normalization = all.normalization;
  im.count = im.set->size();
  const ir::Value& v = *inputs[0];
  bool fits = inputs.size() == 1 && v.ranked && (v.shape.rank() == 3 || v.shape.rank() == 4) &&
              (v.dtype == DType::kU8 || v.dtype == DType::kF32);
  if (fits) {
    if (v.shape.rank() == 4) im.item.push_back(1);
    im.item.push_back(all.height), im.item.push_back(all.width);
    for (int d = 1; d < v.shape.rank(); ++d)
      fits = fits && (!v.shape[d].known() || v.shape[d].constant() == im.item[d - 1]);
    fits = fits && (!v.shape[0].known() || v.shape[0].constant() > 0);
  }
  if (!fits) {
    throw Error(fmt::format("{} has grey images of {}x{}; the model takes {} {}", all.name,
                            all.height, all.width, v.name, type_of(v)),
                Code::kShapeMismatch);
  }
  im.input = v.name;
  im.dtype = v.dtype;
  im.batch = v.shape[0].known() ? v.shape[0].constant() : o.test ? kTestBatch : o.batch;
  // This counts images, not batches: a model of one image per run sees as many.
  im.wanted = o.batches > 0 ? items_of(o.batches, im.batch, im.count)
              : o.test      ? im.count
                            : std::min(im.count, std::max(kUsualImages, im.batch));
  if (v.shape[0].known()) im.wanted -= im.wanted % im.batch;
  if (im.wanted == 0) throw Error(fmt::format("{} has fewer images than the model's batch", name));
  InputData d;
  d.count = (im.wanted + im.batch - 1) / im.batch;
  d.items = im.wanted;
  d.text = fmt::format("{} of the {} {} images of {}", im.wanted, im.count,
                       o.test ? "test" : "training", all.name);
  d.batches = [im, n = d.count](int64_t i) -> std::optional<Batch> {
    if (i >= n) return std::nullopt;
    return im.get(i);
  };
  d.labels = [im](int64_t i) { return im.labels(i); };
  return d;
}

}  // namespace

bool is_image_set(const std::string& data) {
  const std::vector<std::string> names = data::image_data_names();
  if (std::find(names.begin(), names.end(), data) != names.end()) return true;
  std::error_code error;
  if (!fs::is_directory(data, error)) return false;
  for (const auto& entry : fs::directory_iterator(data)) {
    if (entry.path().filename().string().find("-idx3-ubyte") != std::string::npos) return true;
  }
  return false;
}

namespace {

// -- arrays with all items, along the first dimension
struct Whole {
  std::map<std::string, HostTensor> arrays;
  std::vector<int64_t> labels;
};

InputData whole(const ir::Graph& g, const std::string& file, Whole all, const DataOptions& o) {
  int64_t items = -1, batch = o.batch;
  bool fixed = false;
  for (const ir::Value* v : inputs_of(g)) {
    const HostTensor& t = all.arrays[v->name];
    const std::string what =
        quoted(file) + (file.ends_with(".npz") ? " (" + v->name + ")" : std::string());
    if (t.shape().rank() == 0) throw Error(fmt::format("'{}' has no dimension of items", file));
    HostTensor one = t;  // with the rows of a batch
    if (v->ranked && v->shape.rank() > 0 && v->shape[0].known()) {
      batch = v->shape[0].constant();
      fixed = true;
      if (t.shape()[0] >= batch) one = rows(t, 0, batch);
    }
    check_array(one, what, *v);
    check_array(t, what, [&] {
      ir::Value any = *v;
      any.ranked = false;
      return any;
    }());
    if (items >= 0 && t.shape()[0] != items) {
      throw Error(
          fmt::format("'{}': {} has {} items, an input before it {}; where the batch is "
                      "another dimension of it, give a folder with a folder for each input, "
                      "and in it a file for each batch",
                      file, v->name, t.shape()[0], items),
          Code::kShapeMismatch);
    }
    items = t.shape()[0];
  }
  if (!all.labels.empty() && static_cast<int64_t>(all.labels.size()) != items) {
    throw Error(fmt::format("'{}': {} labels for {} items", file, all.labels.size(), items),
                Code::kShapeMismatch);
  }
  const int64_t there = items;
  if (fixed) items -= items % batch;
  if (o.batches > 0) items = items_of(o.batches, batch, items);
  InputData d;
  d.items = items;
  d.count = (items + batch - 1) / batch;
  d.text = fmt::format("{} of the {} items of {}", items, there, file);
  if (!all.labels.empty()) {
    d.labels = [labels = all.labels, batch, items](int64_t i) {
      return std::vector<int64_t>(labels.begin() + i * batch,
                                  labels.begin() + std::min(items, (i + 1) * batch));
    };
  }
  d.batches = [arrays = std::move(all.arrays), batch, items](int64_t i) -> std::optional<Batch> {
    if (i * batch >= items) return std::nullopt;
    Batch b;
    for (const auto& [name, t] : arrays)
      b[name] = rows(t, i * batch, std::min(batch, items - i * batch));
    return b;
  };
  return d;
}

InputData npy(const ir::Graph& g, const std::string& file, const DataOptions& o) {
  const auto inputs = inputs_of(g);
  if (inputs.size() != 1) {
    throw Error(
        fmt::format("the model has {} inputs ({}): {} takes an .npz with an array for "
                    "each, or a folder with a folder for each",
                    inputs.size(), names_of(inputs), o.option));
  }
  HostTensor array = as_given(read_array(file), inputs[0]->dtype, quoted(file));
  return whole(g, file, {{{inputs[0]->name, std::move(array)}}, {}}, o);
}

InputData npz(const ir::Graph& g, const std::string& file, const DataOptions& o) {
  const auto inputs = inputs_of(g);
  Whole all;
  const auto input_of = [&](const std::string& name) {
    return std::find_if(inputs.begin(), inputs.end(),
                        [&](const ir::Value* v) { return v->name == name; });
  };
  const auto wanted = [&](const std::string& name, DType, const Shape&) {
    if (name == kLabels || input_of(name) != inputs.end()) return true;
    throw Error(fmt::format("'{}' has an array '{}'; the model's inputs: {} (and labels)", file,
                            name, names_of(inputs)),
                Code::kNotFound);
  };
  for (const auto& [name, array] : data::read_npz(file, data::kDefaultArrayBudget, wanted)) {
    if (const auto input = input_of(name); input != inputs.end()) {
      all.arrays[name] = as_given(host(array), (*input)->dtype, quoted(file) + " (" + name + ")");
    } else {
      all.labels = read_labels(host(array), quoted(file) + " (labels)");
    }
  }
  for (const ir::Value* v : inputs) {
    if (all.arrays.count(v->name) == 0)
      throw Error(fmt::format("'{}' has no array for input {}", file, v->name), Code::kNotFound);
  }
  return whole(g, file, std::move(all), o);
}

// -- One file for each batch
InputData folder(const ir::Graph& g, const std::string& path, const DataOptions& o) {
  const auto inputs = inputs_of(g);
  std::map<std::string, std::vector<std::string>> files;
  for (const ir::Value* v : inputs) {
    const fs::path own = fs::path(path) / v->name;
    std::error_code error;
    const bool apart = fs::is_directory(own, error);
    if (!apart && inputs.size() > 1) {
      throw Error(fmt::format("'{}' has no folder '{}': the model has {} inputs ({}), each needs "
                              "a folder of .npy files",
                              path, v->name, inputs.size(), names_of(inputs)),
                  Code::kNotFound);
    }
    files[v->name] = arrays_in(apart ? own : fs::path(path));
    if (files[v->name].empty()) {
      throw Error(fmt::format("'{}' holds no .npy file", apart ? own.string() : path),
                  Code::kNotFound);
    }
  }
  InputData d;
  const auto there = static_cast<int64_t>(files.begin()->second.size());
  for (const auto& [name, list] : files) {
    if (static_cast<int64_t>(list.size()) == there) continue;
    throw Error(fmt::format("'{}': {} files for {}, {} for {}", path, list.size(), name, there,
                            files.begin()->first),
                Code::kShapeMismatch);
  }
  d.count = o.batches > 0 ? std::min(o.batches, there) : there;
  d.text = fmt::format("{} of the {} batches in {}", d.count, there, path);
  const auto get = [files, inputs](int64_t i) {
    Batch b;
    for (const ir::Value* v : inputs) {
      const std::string& file = files.at(v->name)[static_cast<size_t>(i)];
      b[v->name] = as_given(read_array(file), v->dtype, quoted(file));
      check_array(b[v->name], quoted(file), *v);
    }
    return b;
  };
  d.batches = [get, n = d.count](int64_t i) -> std::optional<Batch> {
    if (i >= n) return std::nullopt;
    return get(i);
  };
  const fs::path labels = fs::path(path) / "labels.npy";
  if (!o.test || !fs::exists(labels)) return d;
  check_regular(labels);
  const std::vector<int64_t> all =
      read_labels(read_array(labels.string()), quoted(labels.string()));
  std::vector<int64_t> begin = {0};
  for (int64_t i = 0; i < d.count; ++i) {
    const HostTensor t = read_array(files.begin()->second[static_cast<size_t>(i)]);
    begin.push_back(begin.back() + (t.shape().rank() == 0 ? 1 : t.shape()[0]));
  }
  d.items = begin.back();
  if (static_cast<int64_t>(all.size()) < d.items) {
    throw Error(fmt::format("'{}' has {} labels, the batches {} items", labels.string(), all.size(),
                            d.items),
                Code::kShapeMismatch);
  }
  d.labels = [all, begin](int64_t i) {
    return std::vector<int64_t>(all.begin() + begin[static_cast<size_t>(i)],
                                all.begin() + begin[static_cast<size_t>(i) + 1]);
  };
  return d;
}

InputData made_up(const ir::Graph& g, const DataOptions& o) {
  const Model model = Model::from_graph(g, false);
  Runner runner(model, {"cpu", 1, false, nullptr});
  const Sample sample =
      sample_inputs(runner.session(), model.program(),
                    {.batch = std::nullopt, .usual_batch = o.batch, .named = o.dims});
  Batch b;
  for (size_t i = 0; i < sample.inputs.size(); ++i)
    b[runner.session().input(i).name] = sample.inputs[i];
  InputData d;
  d.count = 1;
  d.items = sample.batch;
  d.text = counted(sample.batch, "made-up item");
  d.batches = quantize::batches_of({b});
  return d;
}

}  // namespace

InputData open_data(const ir::Graph& graph, const std::string& data, const DataOptions& o) {
  if (graph.inputs().empty()) throw Error("the model has no inputs: there is nothing to observe");
  if (data == "sample") return made_up(graph, o);
  if (is_image_set(data)) return images(graph, data, o);
  std::error_code error;
  if (fs::is_directory(data, error)) return folder(graph, data, o);
  if (data.ends_with(".npz")) return npz(graph, data, o);
  if (data.ends_with(".npy")) return npy(graph, data, o);
  std::string names;
  for (const std::string& n : data::image_data_names()) names += n + ", ";
  throw Error(fmt::format("{} '{}' is no folder, no .npy or .npz file, and none of {}sample",
                          o.option, data, names),
              Code::kNotFound);
}

}  // namespace wick::tool
