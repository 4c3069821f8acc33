// This stands in an event, as TensorFlow's summary.proto, tensor.proto and the plugins' messages
// have it; internal.
#pragma once

#include <map>
#include <string>

#include "trainer/board/proto.h"
#include "trainer/board/summary_writer.h"
#include "trainer/tensor/tensor.h"

namespace wick::board {

// Each is a Summary.Value, of which an event's Summary has one.
Message scalar_value(const std::string& tag, double value);
// Holds a histogram of a float or integer tensor of any shape, in the buckets of
// torch.utils.tensorboard (bins="tensorflow"). Error: no element, or none that is finite.
Message histogram_value(const std::string& tag, const Arg& values);
// Holds an image [C, H, W] or [H, W] as a PNG file.
Message image_value(const std::string& tag, const Arg& image);
Message text_value(const std::string& tag, const std::string& text);
// The plugin's three messages of a run with its hyperparameters: experiment, begin and end.
Message hparams_experiment(const HParams& hparams, const std::map<std::string, double>& metrics);
Message hparams_begin(const HParams& hparams, double seconds);
Message hparams_end(double seconds);

}  // namespace wick::board
