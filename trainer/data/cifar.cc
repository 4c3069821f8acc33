#include "trainer/data/cifar.h"

#include <cstring>

#include "trainer/data/image/image_file.h"

namespace wick::data {
namespace {

constexpr int64_t kPixels = 3 * 32 * 32;
constexpr int64_t kMaxFile = int64_t{1} << 30;

}  // namespace

std::shared_ptr<Dataset> read_cifar(const std::vector<std::string>& files, Cifar kind, bool coarse,
                                    Where where) {
  if (files.empty()) throw_error("cifar", "no files", where);
  if (coarse && kind == Cifar::k10) throw_error("cifar", "CIFAR-10 has no coarse labels", where);
  int64_t labels = kind == Cifar::k10 ? 1 : 2, record = labels + kPixels;
  int classes = kind == Cifar::k10 ? 10 : coarse ? 20 : 100;
  std::vector<std::vector<uint8_t>> contents;
  int64_t items = 0;
  for (const std::string& file : files) {
    contents.push_back(read_file("cifar", file, kMaxFile));
    auto size = static_cast<int64_t>(contents.back().size());
    if (size == 0 || size % record != 0) {
      throw Error("[cifar] " + file + ": " + std::to_string(size) +
                      " bytes are no whole number of records of " + std::to_string(record),
                  Code::kIo);
    }
    items += size / record;
  }
  Tensor images = empty({items, 3, 32, 32}, DType::kU8), targets = empty({items}, DType::kI64);
  auto* pixels = static_cast<uint8_t*>(images.raw().data);
  auto* target = static_cast<int64_t*>(targets.raw().data);
  for (size_t f = 0; f < files.size(); ++f) {
    for (size_t at = 0; at < contents[f].size(); at += static_cast<size_t>(record)) {
      const uint8_t* from = contents[f].data() + at;
      int label = from[coarse ? 0 : labels - 1];
      if (label >= classes) {
        throw Error("[cifar] " + files[f] + ": record " +
                        std::to_string(at / static_cast<size_t>(record)) + " has label " +
                        std::to_string(label) + " of " + std::to_string(classes) + " classes",
                    Code::kIo);
      }
      *target++ = label;
      std::memcpy(pixels, from + labels, kPixels);
      pixels += kPixels;
    }
  }
  return std::make_shared<TensorDataset>(std::vector<Tensor>{images, targets}, where);
}

std::shared_ptr<Dataset> open_cifar(const std::string& folder, Cifar kind, bool train,
                                    Where where) {
  std::vector<std::string> files;
  if (kind == Cifar::k100) {
    files = {folder + (train ? "/train.bin" : "/test.bin")};
  } else if (train) {
    for (int i = 1; i <= 5; ++i) {
      files.push_back(folder + "/data_batch_" + std::to_string(i) + ".bin");
    }
  } else {
    files = {folder + "/test_batch.bin"};
  }
  return read_cifar(files, kind, false, where);
}

}  // namespace wick::data
