// A folder of its own for each test, and what a run left in it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/support/error_of.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/tensor/call.h"

namespace wick::loop {

class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "wick_fit_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    set_num_threads(1);
  }
  std::string in(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

// metrics.csv without its two columns of measured time.
inline std::string metrics_text(const std::string& folder) {
  std::ifstream in(folder + "/metrics.csv");
  std::string text;
  for (std::string row; std::getline(in, row);) {
    size_t from = 0, to = 0;
    for (int comma = 0; comma < 7; ++comma) from = row.find(',', from) + 1;
    to = row.find(',', row.find(',', from) + 1);
    text += row.substr(0, from) + (to == std::string::npos ? "" : row.substr(to)) + "\n";
  }
  return text;
}

// All that a run ends with: digests of every tensor and of the counters of both checkpoints.
inline std::map<std::string, std::string> digests(const std::string& folder) {
  std::map<std::string, std::string> found;
  for (const char* name : {"last.safetensors", "best.safetensors"}) {
    Safetensors file = load_safetensors(folder + "/" + name);
    nn::NamedTensors parts[3];
    for (const auto& t : file.tensors) {
      parts[t.first.starts_with("optimizer/") ? 1
            : t.first.starts_with("average/") ? 2
                                              : 0]
          .push_back(t);
    }
    found[std::string(name) + " weights"] = state_sha256(parts[0]);
    found[std::string(name) + " optimizer"] = state_sha256(parts[1]);
    found[std::string(name) + " average"] = state_sha256(parts[2]);
    found[std::string(name) + " state"] = file.metadata["wick.training_state"];
  }
  found["metrics.csv"] = metrics_text(folder);
  return found;
}

}  // namespace wick::loop
