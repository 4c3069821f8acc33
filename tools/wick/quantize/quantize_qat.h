// wick quantize --recipe qat: trains a training run's model further with the rounding in place.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "quantize/recipe.h"
#include "tools/wick/trained.h"

namespace wick::tool {

struct QatRun {
  quantize::Recipe recipe;
  std::string data;  // an image set; its training images are used
  int64_t epochs = 3, batch = 64;
  double lr = 0.002;  // for SGD with Nesterov momentum 0.9; falls to 0 by a cosine
  bool learn_scales = false;
  uint64_t seed = 0;     // for the order of images, and for what is held out:
  double val_split = 0;  // as in the earlier run, so that neither saw it
  int threads = 1;       // does not affect the result
  std::FILE* progress = nullptr;
};

// `graph` is capture_trained()'s, which takes bytes. Both graphs have the trained weights. With
// several epochs, observers and batch norms are frozen for the last one. Nothing is selected by the
// held-out images: `validation` has the accuracy on them after each epoch.
struct QatTrained {
  ir::Graph graph;      // QDQ
  ir::Graph unrounded;  // the same weights as floats
  std::vector<double> validation;
  int64_t images = 0;  // that it was trained on
};
QatTrained train_quantized(const ir::Graph& graph, const QatRun& run);

}  // namespace wick::tool
