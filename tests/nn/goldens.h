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

constexpr DType kD = DType::kF64;

// make_modules.py's numbers.
inline Tensor number(const Shape& shape, int64_t seed) {
  std::vector<double> v;
  for (int64_t i = 0; i < numel(shape); ++i) {
    v.push_back(static_cast<double>((i * 37 + seed * 23) % 101 - 50) / 64);
  }
  return from_blob(v.data(), shape, kD);
}

struct Golden {
  std::string text;  // repr and state: the rest of the line
  std::string shape;
  std::vector<double> values;
};
using Goldens = std::map<std::string, std::map<std::string, Golden>>;  // case, what

inline Goldens read_goldens(const std::string& name) {
  Goldens all;
  std::ifstream file(source_dir("/tests/nn/goldens/") + name);
  EXPECT_TRUE(file.good()) << name;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name_of, what;
    words >> name_of >> what;
    Golden& g = all[name_of][what];
    if (what == "repr" || what == "state") {
      std::getline(words >> std::ws, g.text);
      continue;
    }
    words >> g.shape;
    for (std::string number; words >> number;) g.values.push_back(std::stod(number));
  }
  return all;
}

// The largest difference, relative where the number is above 1; infinite where the shapes differ.
inline double difference(const Golden& want, const Tensor& got) {
  if (!got.defined() || want.shape != to_text(got.raw_shape()).text) return HUGE_VAL;
  const std::vector<double> v = got.to(kD).to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < v.size(); ++i) {
    if (std::isnan(v[i]) && std::isnan(want.values[i])) continue;
    if (v[i] == want.values[i]) continue;
    const double d = std::fabs(v[i] - want.values[i]) / std::max(1.0, std::fabs(want.values[i]));
    worst = d >= 0 && d <= worst ? worst : std::isnan(d) ? HUGE_VAL : d;
  }
  return worst;
}

}  // namespace wick
