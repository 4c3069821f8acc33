#include "trainer/data/image/images.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "trainer/data/idx.h"

namespace wick::data {
namespace {

namespace fs = std::filesystem;

struct KnownData {
  const char* name;
  const char* system_folder;  // where a package installs it; null: no package does
  const char* advice;
  Normalization normalization;
  std::array<const char*, 10> classes;
};
constexpr std::array<const char*, 10> kDigits = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
// Mean and standard deviation of the training images.
constexpr KnownData kKnown[] = {
    {"fashion-mnist",
     "/usr/share/datasets/fashion-mnist",
     "install Debian's package: apt install dataset-fashion-mnist",
     {255.0f, 0.2860f, 0.3530f},
     {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
      "Ankle boot"}},
    {"mnist", nullptr, "put its four IDX files into a folder", {255.0f, 0.1307f, 0.3081f}, kDigits},
    {"tinydigits",
     nullptr,
     "put its four IDX files into a folder",
     {16.0f, 0.3053f, 0.3760f},
     kDigits},
};

// Returns the file `stem` or `stem.gz`; empty if neither exists.
std::string find_file(const fs::path& folder, std::initializer_list<const char*> stems) {
  for (const char* stem : stems) {
    for (const char* end : {"", ".gz"}) {
      fs::path path = folder / (std::string(stem) + end);
      if (fs::is_regular_file(path)) return path.string();
    }
  }
  return {};
}

struct Files {
  std::string parts[4];  // train images, train labels, test images, test labels
  bool complete() const {
    return std::none_of(std::begin(parts), std::end(parts),
                        [](const std::string& p) { return p.empty(); });
  }
};
Files find_files(const fs::path& folder) {
  return {{find_file(folder, {"train-images-idx3-ubyte"}),
           find_file(folder, {"train-labels-idx1-ubyte"}),
           find_file(folder, {"t10k-images-idx3-ubyte", "test-images-idx3-ubyte"}),
           find_file(folder, {"t10k-labels-idx1-ubyte", "test-labels-idx1-ubyte"})}};
}

ImageData load(const std::string& name, const fs::path& folder, const Files& files,
               const Normalization& normalization, std::vector<std::string> classes) {
  HostArray parts[4];
  for (int i = 0; i < 4; ++i) parts[i] = read_idx(files.parts[i]);
  if (classes.empty()) {
    int count = 0;
    for (int i : {1, 3}) {
      for (uint8_t label : parts[i].bytes) count = std::max(count, label + 1);
    }
    for (int i = 0; i < count; ++i) classes.push_back(std::to_string(i));
  }
  ImageData data;
  data.name = name;
  data.folder = folder.string();
  data.normalization = normalization;
  auto count = static_cast<int>(classes.size());
  data.train = std::make_shared<ImageDataset>(std::move(parts[0]), std::move(parts[1]), count,
                                              normalization, name + " train");
  data.test = std::make_shared<ImageDataset>(std::move(parts[2]), std::move(parts[3]), count,
                                             normalization, name + " test");
  data.classes = std::move(classes);
  data.height = data.train->images().shape[1];
  data.width = data.train->images().shape[2];
  if (data.test->images().shape[1] != data.height || data.test->images().shape[2] != data.width) {
    throw Error("[data] " + data.folder + ": training images are " +
                    to_text(data.train->images().shape).text + ", test images " +
                    to_text(data.test->images().shape).text,
                Code::kShapeMismatch);
  }
  return data;
}

std::vector<fs::path> candidates(const KnownData& known) {
  std::vector<fs::path> folders;
  if (const char* own = std::getenv("WICK_DATA")) folders.push_back(fs::path(own) / known.name);
  if (known.system_folder != nullptr) folders.emplace_back(known.system_folder);
  const char* shared = std::getenv("WICK_SHARED");
  folders.push_back(fs::path(shared != nullptr ? shared : "../shared") / "data" / known.name);
  return folders;
}

}  // namespace

float normalize(uint8_t x, const Normalization& n) {
  return (static_cast<float>(x) / n.divisor - n.mean) / n.std;
}

ImageDataset::ImageDataset(HostArray images, HostArray labels, int classes,
                           const Normalization& normalization, const std::string& name)
    : images_(std::move(images)), labels_(std::move(labels)) {
  if (images_.dtype != DType::kU8 || images_.shape.rank() != 3) {
    throw Error("[data] " + name + ": images are " + dtype_name(images_.dtype) +
                    to_text(images_.shape).text + ", expected uint8 of rank 3",
                Code::kShapeMismatch);
  }
  if (labels_.dtype != DType::kU8 || labels_.shape.rank() != 1 ||
      labels_.shape[0] != images_.shape[0]) {
    throw Error("[data] " + name + ": labels are " + dtype_name(labels_.dtype) +
                    to_text(labels_.shape).text + " for images " + to_text(images_.shape).text,
                Code::kShapeMismatch);
  }
  for (size_t i = 0; i < labels_.bytes.size(); ++i) {
    if (labels_.bytes[i] >= classes) {
      throw Error("[data] " + name + ": item " + std::to_string(i) + " has label " +
                  std::to_string(labels_.bytes[i]) + " of " + std::to_string(classes) + " classes");
    }
  }
  for (int x = 0; x < 256; ++x) {
    table_[static_cast<size_t>(x)] = normalize(static_cast<uint8_t>(x), normalization);
  }
}

Batch ImageDataset::get_batch(Span<const int64_t> indices) const {
  for (int64_t index : indices) check_index(index);
  int64_t height = images_.shape[1], width = images_.shape[2];
  auto pixels = static_cast<size_t>(height * width);
  auto rows = static_cast<int64_t>(indices.size());
  Tensor x = empty({rows, 1, height, width});
  Tensor y = empty({rows}, DType::kI64);
  auto* to = static_cast<float*>(x.raw().data);
  auto* label = static_cast<int64_t*>(y.raw().data);
  for (size_t row = 0; row < indices.size(); ++row) {
    auto index = static_cast<size_t>(indices[row]);
    const uint8_t* from = images_.bytes.data() + index * pixels;
    for (size_t i = 0; i < pixels; ++i) to[row * pixels + i] = table_[from[i]];
    label[row] = labels_.bytes[index];
  }
  return {x, y};
}

std::vector<Tensor> ImageDataset::get(int64_t index) const {
  Batch batch = get_batch({&index, 1});
  return {batch[0].reshape({1, images_.shape[1], images_.shape[2]}), batch[1].reshape(Shape())};
}

std::vector<std::string> image_data_names() {
  std::vector<std::string> names;
  for (const KnownData& known : kKnown) names.push_back(known.name);
  return names;
}

ImageData open_images(const std::string& what) {
  for (const KnownData& known : kKnown) {
    if (what != known.name) continue;
    std::string looked;
    for (const fs::path& folder : candidates(known)) {
      Files files = find_files(folder);
      if (files.complete()) {
        return load(what, folder, files, known.normalization,
                    {known.classes.begin(), known.classes.end()});
      }
      looked += (looked.empty() ? "" : ", ") + folder.string();
    }
    throw Error("[data] " + what + " not found (looked in " + looked + "); " + known.advice +
                    ", or set WICK_DATA to the folder that holds " + what + "/, or give --data DIR",
                Code::kNotFound);
  }
  std::string known;
  for (const std::string& name : image_data_names()) known += (known.empty() ? "" : ", ") + name;
  if (!fs::is_directory(what)) {
    throw Error("[data] no folder " + what + " and no data set of that name; known: " + known +
                    ". Fashion-MNIST: apt install dataset-fashion-mnist, then --data fashion-mnist",
                Code::kNotFound);
  }
  Files files = find_files(what);
  if (!files.complete()) {
    const char* stems[4] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                            "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
    std::string missing;
    for (int i = 0; i < 4; ++i) {
      if (files.parts[i].empty()) missing += std::string(missing.empty() ? "" : ", ") + stems[i];
    }
    throw Error("[data] " + what + " lacks " + missing + " (each also with .gz)", Code::kNotFound);
  }
  // A folder with a known data set under another path is normalized like it.
  std::string base = fs::weakly_canonical(what).filename().string();
  for (const KnownData& entry : kKnown) {
    if (base == entry.name) {
      return load(base, what, files, entry.normalization,
                  {entry.classes.begin(), entry.classes.end()});
    }
  }
  return load(what, what, files, Normalization{255.0f, 0.5f, 0.5f}, {});
}

}  // namespace wick::data
