// PyTorch's answers to a row's samples: goldens/FAMILY.json, written by make_goldens.py.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/functions/function_row.h"

namespace wick::test {

struct GoldenOutput {
  std::string dtype;
  Shape shape;
  const std::vector<double>* values = nullptr;  // null: random
};

struct Golden {
  std::string digest;
  std::map<std::string, std::vector<GoldenOutput>> values;  // by dtype under test
  // By dtype: for each output the inputs whose memory it shares. Absent: every output is new.
  std::map<std::string, std::vector<std::vector<size_t>>> shared;
  std::vector<const std::vector<double>*> gradient;  // an entry an input; null: none asked
  std::vector<std::unique_ptr<std::vector<double>>> payloads;
};

// Null: the family's file has no such sample.
const Golden* find_golden(const std::string& family, const std::string& key);

}  // namespace wick::test
