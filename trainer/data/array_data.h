// Named arrays of one file as a data set: row i of each is item i.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"

namespace wick::data {

// Tensors `names` of a safetensors file, fields in that order. A name that is not there is an Error
// that lists what is.
std::shared_ptr<TensorDataset> safetensors_dataset(const std::string& path,
                                                   const std::vector<std::string>& names,
                                                   Where where = Where::current());
// Arrays `names` of an NPZ file.
std::shared_ptr<TensorDataset> npz_dataset(const std::string& path,
                                           const std::vector<std::string>& names,
                                           Where where = Where::current());

}  // namespace wick::data
