#include "runtime/kernels/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/tile.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "runtime/kernels/tile-inl.h"

#if HWY_ONCE
namespace wick {
HWY_EXPORT(tile_set);
const TileKernels& tile_kernels() { return *HWY_DYNAMIC_DISPATCH(tile_set)(); }
}  // namespace wick
#endif
