// wick quantize --recipe qat: a training run trained on with the rounding in place.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "quantize/recipe.h"
#include "tools/wick/trained.h"

namespace wick::tool {

struct QatRun {
  quantize::Recipe recipe;
  std::string data;  // an image set; its training images
  int64_t epochs = 3, batch = 64;
  double lr = 0.002;  // of SGD with Nesterov momentum 0.9, by a cosine to 0
  bool learn_scales = false;
  uint64_t seed = 0;     // of the order of images, and of what is held out:
  double val_split = 0;  // as in the run that is trained on, so that neither saw it
  int threads = 1;       // changes nothing in the result
  std::FILE* progress = nullptr;
};

// `graph`: capture_trained()'s, which takes bytes. Both graphs are of the trained weights.
// Observers and batch norms are frozen for the last of several epochs. Nothing is picked by what is
// held out: its accuracies after each epoch are `validation`.
struct QatTrained {
  ir::Graph graph;      // QDQ
  ir::Graph unrounded;  // the same weights as floats
  std::vector<double> validation;
  int64_t images = 0;  // that it was trained on
};
QatTrained train_quantized(const ir::Graph& graph, const QatRun& run);

}  // namespace wick::tool
