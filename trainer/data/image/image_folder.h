// ImageFolder: one folder per class, as in torchvision.datasets.ImageFolder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/image/image_file.h"

namespace wick::data {

// Items are {uint8 [C, H, W], int64 class} of root/CLASS/**/*.{png,jpg,jpeg}. The classes are the
// folders of root in the order of their bytes; files are sorted by folder, then name. A class
// without a file is an error, and so is a file of a format that torchvision reads and Wick does
// not.
class ImageFolder : public Dataset {
 public:
  explicit ImageFolder(const std::string& root, const ImageOptions& options = {},
                       Where where = Where::current());
  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  Item get(int64_t index) const override;

  // Return the names of the classes, the path and class of each file, and the class of each file
  // alone.
  const std::vector<std::string>& classes() const { return classes_; }
  const std::vector<std::pair<std::string, int64_t>>& samples() const { return samples_; }
  std::vector<int64_t> targets() const;

 private:
  ImageOptions options_;
  std::vector<std::string> classes_;
  std::vector<std::pair<std::string, int64_t>> samples_;  // path, class
};

}  // namespace wick::data
