#include "runtime/ops/rule.h"

namespace wick {

// Alone in its file and weak, as default_kernels() is.
__attribute__((weak)) Span<const Rule<int64_t>> shape_rules() { return kAllShapeRules; }

}  // namespace wick
