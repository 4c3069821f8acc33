// Named arrays of one file as a data set: row i of each is item i.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"

namespace wick::data {

// Reads the tensors `names` of a safetensors file as the fields, in that order. An unknown name is
// an Error that lists the existing ones.
std::shared_ptr<TensorDataset> safetensors_dataset(const std::string& path,
                                                   const std::vector<std::string>& names,
                                                   Where where = Where::current());
// Reads the arrays `names` of an NPZ file.
std::shared_ptr<TensorDataset> npz_dataset(const std::string& path,
                                           const std::vector<std::string>& names,
                                           Where where = Where::current());

}  // namespace wick::data
