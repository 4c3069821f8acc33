// Conversions of sizes of one to three spatial dims; not public.
#pragma once

#include "trainer/nn/extra_repr.h"
#include "trainer/tensor/ops/conv.h"
#include "trainer/tensor/ops/image/image.h"

namespace wick::nn {

inline Extents extents(int64_t n) { return {n}; }
inline Extents extents(Pair p) { return {p.h, p.w}; }
inline Extents extents(Triple t) { return {t.d, t.h, t.w}; }
inline Pair pair(const Extents& e) { return {e[0], e[1]}; }
inline Triple triple(const Extents& e) { return {e[0], e[1], e[2]}; }

// p: the padding before and after each of the `spatial` dims, starting with the last dim.
inline Tensor pad_spatial(const Arg& x, int64_t spatial, const int64_t* p, std::string_view mode,
                          double value = 0) {
  if (spatial == 1) return pad(x, {p[0], p[1]}, mode, value);
  if (spatial == 2) return pad(x, {p[0], p[1], p[2], p[3]}, mode, value);
  return pad(x, {p[0], p[1], p[2], p[3], p[4], p[5]}, mode, value);
}

}  // namespace wick::nn
