// Returns the items of every class, classes in ascending order; internal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::data {

inline std::vector<std::vector<int64_t>> class_lists(const char* op,
                                                     const std::vector<int64_t>& labels,
                                                     const Where& where) {
  if (labels.empty()) throw_error(op, "no labels", where);
  std::map<int64_t, std::vector<int64_t>> by_class;
  for (size_t i = 0; i < labels.size(); ++i) {
    by_class[labels[i]].push_back(static_cast<int64_t>(i));
  }
  std::vector<std::vector<int64_t>> lists;
  for (auto& [label, items] : by_class) lists.push_back(std::move(items));
  return lists;
}

}  // namespace wick::data
