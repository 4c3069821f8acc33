#include "runtime/ops/rule.h"

namespace wick {

// It is weak and alone in its file, like default_kernels(), so that a program can replace it.
__attribute__((weak)) Span<const Rule<int64_t>> shape_rules() { return kAllShapeRules; }

}  // namespace wick
