// Opens what wick quantize reads inputs from: files of arrays, a known data set, or made-up
// numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "quantize/observe/calibrate.h"

namespace wick::tool {

// Options of open_data().
struct DataOptions {
  std::string option = "--calib";  // the option that errors name
  bool test = false;               // labels are wanted; of a data set, all test images in order
  int64_t batches = 0;             // at most; 0: all of files and test images, else 512 images
  int64_t batch = 32;  // items per batch, if the model has a choice and files do not say
  std::vector<std::string> dims = {};  // "NAME=N", for "sample"
};

// Data for a model's inputs.
struct InputData {
  quantize::Batches batches;  // one after the other
  int64_t count = 0;          // the number of batches
  int64_t items = 0;          // rows of all batches
  std::string text;           // "512 of the 60000 training images of fashion-mnist"
  // Returns one label per row of the batch; an empty function: not known.
  std::function<std::vector<int64_t>(int64_t batch)> labels;
};

// `data` is
//   NAME | folder of IDX files   images and labels, as wick train takes them: bytes, or normalised
//                                float32, whichever the model's one input takes
//   X.npy                        a model of one input: batches along the first dimension
//   X.npz                        an array for each input, and "labels" if there are any
//   folder                       a .npy for each batch, in the order of their names, where 10 comes
//                                after 9, and labels.npy;
//                                for several inputs a folder of .npy files for each, by its name
//   sample                       one batch of pseudo-random numbers
// Throws Error, which names the file, if there is none, for another dtype or shape, an empty array,
// NaN or infinity. Files of a folder are read when their batch is asked for.
InputData open_data(const ir::Graph& graph, const std::string& data, const DataOptions& options);

// Returns whether open_data() takes it for images: the name of a set, or a folder with IDX files.
bool is_image_set(const std::string& data);

}  // namespace wick::tool
