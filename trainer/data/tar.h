// Reads tar files as a stream of samples in WebDataset's format: consecutive files whose names are
// equal up to the first dot are one sample, and the rest of the name is the field. Nothing is
// unpacked.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/iterable.h"

namespace wick::data {

// The files of a tar that have a key in common: a sample, in the format of WebDataset.
struct TarSample {
  std::string file;                                                  // the tar file
  std::string key;                                                   // "train/0001"
  std::vector<std::pair<std::string, std::vector<uint8_t>>> fields;  // {"jpg", bytes}, {"cls", ...}

  // Returns the bytes of a field. If it is missing, the Error names the sample and the fields it
  // has.
  Span<const uint8_t> field(const std::string& extension) const;
  // Returns whether the sample has the field.
  bool has(const std::string& extension) const;
  // Returns a field that has an integer as text, such as "cls".
  int64_t number(const std::string& extension) const;
  std::string name(const std::string& extension) const;  // "a.tar: train/0001.jpg", for errors
};

// Limits on what a file may make the reader allocate, in bytes. A small tar has smaller ones: 16
// MiB and 1100 times its size.
struct TarOptions {
  uint64_t max_file_bytes = uint64_t{1} << 28;    // of one file in the tar
  uint64_t max_sample_bytes = uint64_t{1} << 30;  // of one sample
};

// Reads plain files, or files compressed with gzip, bzip2, xz or zstd, in the order given. `decode`
// makes an item from a sample; it runs on the workers. Needs libarchive.
class TarDataset : public IterableDataset {
 public:
  TarDataset(std::vector<std::string> files, std::function<Item(const TarSample&)> decode,
             const TarOptions& options = {}, Where where = Where::current());
  std::unique_ptr<ItemStream> open(uint64_t epoch) const override;

 private:
  std::vector<std::string> files_;
  std::function<Item(const TarSample&)> decode_;
  TarOptions options_;
};

}  // namespace wick::data
