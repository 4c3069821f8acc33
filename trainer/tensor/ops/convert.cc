#include "trainer/tensor/ops/convert.h"

#include "trainer/tensor/internal.h"

namespace wick {

int64_t len(const Arg& x) {
  if (x.tensor.rank() == 0) throw_error("len", "a 0-dim tensor has no length", x.where);
  return x.tensor.size(0, x.where);
}

}  // namespace wick
