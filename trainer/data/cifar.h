// CIFAR-10 and CIFAR-100 in their binary version: a byte or two of label, 3 x 32 x 32 bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"

namespace wick::data {

enum class Cifar { k10, k100 };  // k100 has a coarse label before the fine one

// Returns a data set of items {uint8 [3, 32, 32], int64 label}, from the files in the order given,
// kept as bytes. For CIFAR-100 the label is the fine one, or with `coarse` the coarse one.
std::shared_ptr<Dataset> read_cifar(const std::vector<std::string>& files, Cifar kind,
                                    bool coarse = false, Where where = Where::current());
// The same for a folder with data_batch_1.bin ... data_batch_5.bin and test_batch.bin, or train.bin
// and test.bin.
std::shared_ptr<Dataset> open_cifar(const std::string& folder, Cifar kind, bool train,
                                    Where where = Where::current());

}  // namespace wick::data
