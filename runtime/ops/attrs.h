// Includes the attribute structs of every op, one header per family.
#pragma once

#include "runtime/ops/attrs/attention.h"
#include "runtime/ops/attrs/bit.h"
#include "runtime/ops/attrs/chain.h"
#include "runtime/ops/attrs/control.h"
#include "runtime/ops/attrs/conv.h"
#include "runtime/ops/attrs/fake_quantize.h"
#include "runtime/ops/attrs/image.h"
#include "runtime/ops/attrs/index.h"
#include "runtime/ops/attrs/layout.h"
#include "runtime/ops/attrs/linalg.h"
#include "runtime/ops/attrs/norm.h"
#include "runtime/ops/attrs/pool.h"
#include "runtime/ops/attrs/quantize.h"
#include "runtime/ops/attrs/recurrent.h"
#include "runtime/ops/attrs/reduce.h"
#include "runtime/ops/attrs/sequence.h"
#include "runtime/ops/attrs/signal.h"
#include "runtime/ops/attrs/string.h"
#include "runtime/ops/attrs/text.h"
#include "runtime/ops/attrs/trees.h"
#include "runtime/ops/attrs/unary.h"
#include "runtime/ops/attrs/view.h"
#include "runtime/ops/attrs/window.h"

namespace wick {

// The size of the largest attribute struct, for storage that holds any attributes by value.
constexpr size_t kMaxAttrBytes = 544;

}  // namespace wick
