#include "trainer/data/image/image_folder.h"

#include <algorithm>
#include <filesystem>

namespace wick::data {
namespace {

namespace fs = std::filesystem;

std::string extension_of(const fs::path& file) {
  std::string text = file.extension().string();
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}
bool one_of(const std::string& text, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(), [&](const char* each) { return text == each; });
}

// {folder, file name}, in os.walk's sorted order.
std::vector<std::pair<std::string, std::string>> files_below(const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> files;
  auto options = fs::directory_options::follow_directory_symlink;
  for (auto it = fs::recursive_directory_iterator(folder, options);
       it != fs::recursive_directory_iterator(); ++it) {
    if (it.depth() > 64) throw Error("[image_folder] " + folder.string() + ": folders without end");
    if (it->is_directory()) continue;
    std::string extension = extension_of(it->path());
    if (one_of(extension, {".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"})) {
      throw Error("[image_folder] " + it->path().string() + ": " + extension +
                      " files are not read: make it PNG or JPEG",
                  Code::kUnsupported);
    }
    if (one_of(extension, {".png", ".jpg", ".jpeg"})) {
      files.emplace_back(it->path().parent_path().string(), it->path().filename().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

ImageFolder::ImageFolder(const std::string& root, const ImageOptions& options, Where where)
    : options_(options) {
  auto refuse = [&](const std::string& text) {
    throw_error("image_folder", root + ": " + text, where, Code::kNotFound);
  };
  if (!fs::is_directory(root)) refuse("no such folder");
  std::string empty;
  try {
    for (const auto& entry : fs::directory_iterator(root)) {
      if (entry.is_directory()) classes_.push_back(entry.path().filename().string());
    }
    std::sort(classes_.begin(), classes_.end());
    for (size_t c = 0; c < classes_.size(); ++c) {
      auto files = files_below(fs::path(root) / classes_[c]);
      if (files.empty()) empty += (empty.empty() ? "" : ", ") + classes_[c];
      for (const auto& [folder, file] : files) {
        samples_.emplace_back(folder + "/" + file, static_cast<int64_t>(c));
      }
    }
  } catch (const fs::filesystem_error& e) {
    refuse(e.what());
  }
  if (classes_.empty()) refuse("no class folders in it");
  if (!empty.empty()) refuse("no .png, .jpg or .jpeg file for the classes " + empty);
}

Item ImageFolder::get(int64_t index) const {
  check_index(index);
  const auto& [path, label] = samples_[static_cast<size_t>(index)];
  return {read_image(path, options_), full({}, label, DType::kI64)};
}

std::vector<int64_t> ImageFolder::targets() const {
  std::vector<int64_t> labels;
  for (const auto& [path, label] : samples_) labels.push_back(label);
  return labels;
}

}  // namespace wick::data
