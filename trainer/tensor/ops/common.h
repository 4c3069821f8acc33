// What the families of public functions share.
#pragma once

#include <optional>

#include "runtime/ops/attrs.h"
#include "trainer/tensor/tensor.h"

namespace wick {

using Dims = DimList;

}  // namespace wick
