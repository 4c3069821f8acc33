#include "trainer/optim/group_optimizer.h"

#include <algorithm>

namespace wick::optim {

void check_params(const char* op, const std::vector<Tensor>& params, std::vector<uint64_t>& seen,
                  const Where& where) {
  std::vector<uint64_t> all = seen;
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    const std::string what = p.defined() && !p.name().empty() ? "parameter '" + p.name() + "'"
                                                              : "parameter " + std::to_string(i);
    if (!p.defined()) throw_error(op, what + " is undefined", where);
    if (p.dtype() == DType::kF16 || p.dtype() == DType::kBF16) {
      throw_error(op,
                  what + " is " + dtype_name(p.dtype()) +
                      ": small updates would round to nothing. Parameters must be float32 or "
                      "float64; compute in " +
                      dtype_name(p.dtype()) + " from a float32 parameter",
                  where);
    }
    if (p.dtype() != DType::kF32 && p.dtype() != DType::kF64) {
      throw_error(op,
                  what + " is " + dtype_name(p.dtype()) + ": parameters must be float32 or float64",
                  where);
    }
    if (!p.is_leaf()) throw_error(op, what + ": can only optimize leaf tensors", where);
    auto place = std::lower_bound(all.begin(), all.end(), p.id());
    if (place != all.end() && *place == p.id()) {
      throw_error(op, what + ": a parameter appears twice", where);
    }
    all.insert(place, p.id());
  }
  seen = std::move(all);
}

void check_gradient(const char* op, const Tensor& p, const Tensor& g) {
  if (g.dtype() == p.dtype() && g.raw_shape() == p.raw_shape()) return;
  throw Error(std::string("[") + op + "] gradient " + dtype_name(g.dtype()) +
              to_text(g.raw_shape()).text + " of a parameter " + dtype_name(p.dtype()) +
              to_text(p.raw_shape()).text);
}

}  // namespace wick::optim
