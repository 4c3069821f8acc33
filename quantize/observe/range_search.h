// Chooses where to clip, from a histogram.
#pragma once

#include "quantize/observe/histogram.h"
#include "quantize/qparams.h"

namespace wick::quantize {

// `seen` has the extremes of the data, which the results never exceed.

// Returns the range that holds `percent` of the values: both ends lose equally many or, if
// symmetric, the largest magnitudes are cut off. Ends are on edges of bins, rounded outwards.
Range percentile_range(const Histogram& h, Range seen, double percent, bool symmetric);

// Returns the clipping |x| <= t with the least Kullback-Leibler divergence from the data's
// distribution P to Q, which has one height per level (Migacz, 8-bit inference with TensorRT,
// 2017). P are the counts of the bins below t, where everything beyond t is added to the last one;
// Q has the counts without that addition, averaged over the bins of each level where P is not 0.
// Zeros do not count. At most one level's even share of the values is beyond t: in the last bin a
// dominant value would hide any number of them. `levels` counts magnitudes, 128 for int8. At most
// 512 values of t are tried; of equal ones the largest wins.
Range entropy_range(const Histogram& h, Range seen, int levels);

// Returns the range whose integers have the least squared error, with each bin taken at its middle:
// both ends are shrunk together in steps of 1 %, then each alone.
Range mse_range(const Histogram& h, Range seen, DType dtype, bool symmetric);

}  // namespace wick::quantize
