// Where to clip: ranges chosen from a histogram.
#pragma once

#include "quantize/observe/histogram.h"
#include "quantize/qparams.h"

namespace wick::quantize {

// `seen`: the extremes of the data, which the results never exceed.

// The range that holds `percent` of the values: both ends lose equally many, or, symmetric, the
// largest magnitudes go. Ends fall on edges of bins, outwards.
Range percentile_range(const Histogram& h, Range seen, double percent, bool symmetric);

// The clipping |x| <= t with the least Kullback-Leibler divergence from the data's distribution P
// to Q, which has one height for each level (Migacz, 8-bit inference with TensorRT, 2017): of the
// bins below t, the last with all that lies beyond added to it, P are the counts; Q has the counts
// without that addition, averaged over the bins of each level where P is not 0. Zeros do not count.
// At most one level's even share of the values lies beyond t: in the last bin a dominant value
// would hide any number of them. levels: of magnitudes, 128 of int8. At most 512 values of t are
// tried; of equal ones the largest wins.
Range entropy_range(const Histogram& h, Range seen, int levels);

// The range whose integers have the least squared error, each bin as its middle: both ends shrunk
// together in steps of 1 %, then each alone.
Range mse_range(const Histogram& h, Range seen, DType dtype, bool symmetric);

}  // namespace wick::quantize
