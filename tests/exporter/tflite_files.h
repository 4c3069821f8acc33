// The small .tflite files of tests/exporter/tflite and what they give (make_tflite.py).
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "tests/support/where.h"
#include "trainer/data/npy.h"

namespace wick::test {

struct TfliteCase {
  std::vector<HostTensor> in, out;
  // In quantized files bytes may be so many steps apart where sums are rounded by Wick's rule.
  int64_t steps = -1;
};

inline std::string tflite_folder() { return source_dir("/tests/exporter/tflite/"); }

inline HostTensor host_tensor(const data::HostArray& a) {
  return HostTensor(a.dtype, a.shape, a.bytes.data(), a.bytes.size());
}

inline const std::map<std::string, TfliteCase>& tflite_cases() {
  static const std::map<std::string, TfliteCase> all = [] {
    std::map<std::string, TfliteCase> made;
    for (const auto& [key, array] : data::read_npz(tflite_folder() + "answers.npz")) {
      const size_t slash = key.find('/');
      TfliteCase& c = made[key.substr(0, slash)];
      const std::string what = key.substr(slash + 1);
      if (what == "steps") {
        c.steps = *array.as<int64_t>();
        continue;
      }
      std::vector<HostTensor>& list = what.starts_with("in") ? c.in : c.out;
      const size_t i = std::stoul(what.substr(what.find_first_of("0123456789")));
      if (list.size() <= i) list.resize(i + 1);
      list[i] = host_tensor(array);
    }
    return made;
  }();
  return all;
}

inline std::vector<uint8_t> file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace wick::test
