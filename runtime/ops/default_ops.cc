#include "runtime/ops/op_table.h"

namespace wick {

// It is weak and alone in its file, like default_kernels(), so that a program can replace it.
__attribute__((weak)) const OpTable& op_table() { return kAllOps; }

}  // namespace wick
