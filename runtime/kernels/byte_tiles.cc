#include "runtime/kernels/byte_tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/byte_tiles.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "runtime/kernels/byte_tiles-inl.h"

#if HWY_ONCE
namespace wick {

HWY_EXPORT(byte_set);
const ByteKernels& byte_kernels() { return *HWY_DYNAMIC_DISPATCH(byte_set)(); }

}  // namespace wick
#endif
