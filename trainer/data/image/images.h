// Labelled grey images in IDX files (MNIST, Fashion-MNIST and similar sets).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/host_array.h"

namespace wick::data {

// A byte x becomes ((x / divisor) - mean) / std, three float32 operations in that order: an
// exported model that includes the normalization repeats them bit for bit.
struct Normalization {
  float divisor = 255.0f;
  float mean = 0.0f;
  float std = 1.0f;
};
// Returns the normalized value of a byte.
float normalize(uint8_t x, const Normalization& n);

// Items are {float32 [1, H, W], int64 label}. The images are kept as bytes, and normalized when a
// batch is made.
class ImageDataset : public Dataset {
 public:
  // images: u8 [N, H, W], labels: u8 [N], each below `classes`.
  ImageDataset(HostArray images, HostArray labels, int classes, const Normalization& normalization,
               const std::string& name);
  int64_t size() const override { return images_.shape[0]; }
  std::vector<Tensor> get(int64_t index) const override;
  Batch get_batch(Span<const int64_t> indices) const override;

  // Return all images and all labels.
  const HostArray& images() const { return images_; }
  const HostArray& labels() const { return labels_; }

 private:
  HostArray images_, labels_;
  std::array<float, 256> table_;
};

// A data set of images with its splits.
struct ImageData {
  std::string name, folder;                   // name: as it was opened; folder: where its files are
  std::vector<std::string> classes;           // names, by label
  Normalization normalization;                // of pixels
  int64_t height = 0, width = 0;              // sizes of an image
  std::shared_ptr<ImageDataset> train, test;  // both share `normalization`
};

// Opens "fashion-mnist", "mnist", "tinydigits", or a folder with
// {train,t10k|test}-{images-idx3,labels-idx1}-ubyte[.gz]. If it is missing, the error says where it
// was looked for and what to install.
ImageData open_images(const std::string& name_or_folder);
// Returns the names of data sets that open_images() knows.
std::vector<std::string> image_data_names();

}  // namespace wick::data
