// A folder for one test's files, and the text of a loader's batches.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "trainer/data/loader.h"

namespace wick::test {

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "wick_readers_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string folder_;
};

// The first field of every batch of what is left of an epoch, -1 after each.
inline std::vector<int64_t> read_epoch(data::DataLoader& loader) {
  std::vector<int64_t> all;
  data::Batch batch;
  while (loader.next(batch)) {
    for (int64_t v : batch[0].to_vector<int64_t>()) all.push_back(v);
    all.push_back(-1);
  }
  return all;
}

}  // namespace wick::test
