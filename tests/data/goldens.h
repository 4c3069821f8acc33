// The results of PIL and torchvision (make_goldens.py), and the picture they were given.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/where.h"
#include "trainer/tensor/tensor.h"

namespace wick::test {

struct Golden {
  Shape shape;
  std::vector<double> values;
};

inline std::string golden_path(const std::string& name) {
  return source_dir("/tests/data/goldens/") + name;
}

inline const std::map<std::string, Golden>& goldens() {
  static const auto* all = [] {
    auto* read = new std::map<std::string, Golden>;
    std::ifstream in(golden_path("transforms.txt"));
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string name, shape, size;
      words >> name >> shape;
      Golden g;
      std::istringstream sizes(shape);
      while (std::getline(sizes, size, 'x')) g.shape.push_back(std::stoll(size));
      for (double v; words >> v;) g.values.push_back(v);
      (*read)[name] = g;
    }
    return read;
  }();
  return *all;
}

// The same shape, and every number within `bound`; 0: equal.
inline void expect_golden(const std::string& name, const Tensor& got, double bound) {
  auto found = goldens().find(name);
  ASSERT_NE(found, goldens().end()) << name;
  const Golden& g = found->second;
  ASSERT_EQ(got.shape(), g.shape) << name;
  std::vector<double> values = got.to(DType::kF64).to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_LE(std::fabs(values[i] - g.values[i]), bound)
        << name << " at " << i << ": " << values[i] << ", expected " << g.values[i];
  }
}

inline Tensor picture(int64_t height, int64_t width, int64_t channels = 3) {
  std::vector<uint8_t> v;
  for (int64_t i = 0; i < height * width * channels; ++i) {
    v.push_back(static_cast<uint8_t>((i * i * 7 + i * 31) % 251));
  }
  return from_blob(v.data(), {channels, height, width}, DType::kU8);
}

}  // namespace wick::test
