#include "runtime/kernels/gemm/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/tile.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "runtime/kernels/gemm/tile-inl.h"

#if HWY_ONCE
namespace wick {
HWY_EXPORT(tile_set);
const TileKernels& tile_kernels() { return *HWY_DYNAMIC_DISPATCH(tile_set)(); }
}  // namespace wick
#endif
