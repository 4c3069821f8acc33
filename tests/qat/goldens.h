// Numbers that PyTorch gave, as lines of a name and its values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/where.h"
#include "wick/trainer.h"

namespace wick::test {

class Goldens {
 public:
  explicit Goldens(const std::string& name) {
    std::ifstream file(source_dir() + "/tests/qat/goldens/" + name);
    for (std::string line; std::getline(file, line);) {
      std::istringstream in(line);
      std::string key;
      in >> key;
      std::vector<float>& v = values_[key];
      for (double number; in >> number;) v.push_back(static_cast<float>(number));
    }
    EXPECT_FALSE(values_.empty()) << name;
  }
  const std::vector<float>& at(const std::string& name) const { return values_.at(name); }
  Tensor tensor(const std::string& name, const Shape& shape) const {
    const std::vector<float>& v = at(name);
    EXPECT_EQ(numel(shape), static_cast<int64_t>(v.size())) << name;
    return from_blob(v.data(), shape, DType::kF32).clone();
  }

 private:
  std::map<std::string, std::vector<float>> values_;
};

// The largest difference over the largest of `expected`.
inline double difference(const Tensor& got, const std::vector<float>& expected) {
  const std::vector<float> v = got.detach().to(DType::kF32).to_vector<float>();
  EXPECT_EQ(v.size(), expected.size());
  if (v.size() != expected.size()) return 1e30;
  double worst = 0, size = 1e-30;
  for (size_t i = 0; i < v.size(); ++i) {
    worst = std::max(worst, std::fabs(static_cast<double>(v[i]) - expected[i]));
    if (v[i] != v[i]) worst = 1e30;
    size = std::max(size, std::fabs(static_cast<double>(expected[i])));
  }
  return worst / size;
}

}  // namespace wick::test
