// Reads the numbers that make_modules.py wrote.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/where.h"
#include "wick/trainer.h"

namespace wick {

inline Tensor number(const Shape& shape, int64_t seed) {
  std::vector<double> v;
  for (int64_t i = 0; i < numel(shape); ++i) {
    v.push_back(
        (static_cast<double>((i * 37 + seed * 23) % 211 - 105) + static_cast<double>(i % 7) / 8) /
        64);
  }
  return from_blob(v.data(), shape, DType::kF64);
}

inline const std::vector<double>& golden(const std::string& key) {
  static const auto all = [] {
    std::map<std::string, std::vector<double>> m;
    std::ifstream file(source_dir("/tests/modules/goldens/modules.txt"));
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      for (std::string n; words >> n;) m[name].push_back(std::stod(n));
    }
    return m;
  }();
  static const std::vector<double> none;
  auto at = all.find(key);
  EXPECT_NE(at, all.end()) << "no golden " << key;
  return at == all.end() ? none : at->second;
}

// Expects each element of `got` to be the golden's within `tolerance` of itself, and a hundredth of
// it of the largest: that much double loses where terms of that size cancel.
inline void expect_golden(const Tensor& got, const std::string& key, double tolerance = 1e-12) {
  ASSERT_TRUE(got.defined()) << key;
  const std::vector<double> v = got.detach().to(DType::kF64).to_vector<double>();
  const std::vector<double>& want = golden(key);
  ASSERT_EQ(v.size(), want.size()) << key;
  double scale = 1e-300;
  for (double w : want) scale = std::max(scale, std::fabs(w));
  for (size_t i = 0; i < v.size(); ++i) {
    EXPECT_LE(std::fabs(v[i] - want[i]), tolerance * (std::fabs(want[i]) + 0.01 * scale))
        << key << ", element " << i << ": " << v[i] << ", PyTorch has " << want[i];
  }
}

// The golden's Linear, in float64.
inline nn::Linear golden_linear(int64_t in, int64_t out) {
  nn::Linear m(in, out);
  m.to(DType::kF64);
  m.load_state_dict({{"weight", number({out, in}, 1)}, {"bias", number({out}, 2)}});
  return m;
}

inline std::vector<std::string> keys(const nn::NamedTensors& list) {
  std::vector<std::string> names;
  for (const auto& [name, t] : list) names.push_back(name);
  return names;
}

}  // namespace wick
