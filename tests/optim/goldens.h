// Reads the numbers that make_optim.py wrote.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/where.h"
#include "wick/trainer.h"

namespace wick::test {

struct GoldenCase {
  std::string title;  // the text after the kind
  std::vector<std::pair<std::string, std::vector<double>>> lines;

  const std::vector<double>& at(const std::string& key) const {
    for (const auto& [k, v] : lines) {
      if (k == key) return v;
    }
    throw std::runtime_error("no line '" + key + "' in " + title);
  }
};

// All of a kind: "optimizer", "schedule", "clip", "average"; "lbfgs" and "search", which
// make_lbfgs.py wrote; "sparse", which make_sparse.py wrote.
inline std::vector<GoldenCase> goldens(const std::string& kind) {
  const bool lbfgs = kind == "lbfgs" || kind == "search";
  const std::string file = lbfgs ? "lbfgs" : kind == "sparse" ? "sparse" : "optim";
  std::ifstream in(source_dir("/tests/optim/goldens/" + file + ".txt"));
  std::vector<GoldenCase> cases;
  bool taken = false;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "optimizer" || first == "schedule" || first == "clip" || first == "average" ||
        first == "lbfgs" || first == "search" || first == "sparse") {
      taken = first == kind;
      if (taken) cases.push_back({line.substr(first.size() + 1), {}});
      continue;
    }
    if (!taken) continue;
    std::string key = first;
    if (first == "rates" || first == "momenta") {
      std::string group;
      words >> group;
      key += " " + group;
    }
    std::vector<double> values;
    for (std::string word; words >> word;) values.push_back(std::stod(word));
    cases.back().lines.emplace_back(key, values);
  }
  return cases;
}

inline double number(int64_t i, int64_t seed) {
  return static_cast<double>((i * 37 + seed * 23) % 101 - 50) / 64;
}
inline Tensor numbers(const Shape& shape, int64_t seed, DType dtype = DType::kF64) {
  std::vector<double> v;
  for (int64_t i = 0; i < numel(shape); ++i) v.push_back(number(i, seed));
  return from_blob(v.data(), shape, DType::kF64).to(dtype);
}

// The golden's gradient of a parameter.
inline Tensor gradient_of(const Tensor& p, int64_t step, int64_t group) {
  Tensor value = p.detach().to(DType::kF64);
  std::vector<double> g = value.contiguous().to_vector<double>();
  for (size_t i = 0; i < g.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    g[i] = number(at, step + 3 * group) > 0.7 ? 0 : number(at, 7 * step + group) + 0.25 * g[i];
  }
  return from_blob(g.data(), p.raw_shape(), DType::kF64).to(p.dtype());
}

inline std::vector<double> values_of(const std::vector<Tensor>& tensors) {
  std::vector<double> all;
  for (const Tensor& t : tensors) {
    for (double v : t.detach().to(DType::kF64).to_vector<double>()) all.push_back(v);
  }
  return all;
}

inline void expect_close(const std::vector<double>& got, const std::vector<double>& want,
                         double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::abs(want[i])))
        << what << ", number " << i;
  }
}

}  // namespace wick::test
