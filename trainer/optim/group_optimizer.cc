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

void check_step(const char* op, const Tensor& p, const Tensor& g, const ParamState& state) {
  auto same = [&](const Tensor& t) {
    return t.dtype() == p.dtype() && t.raw_shape() == p.raw_shape();
  };
  auto text = [](const Tensor& t) {
    return std::string(dtype_name(t.dtype())) + to_text(t.raw_shape()).text;
  };
  const std::string of = p.name().empty() ? "a parameter" : "parameter '" + p.name() + "'";
  if (p.dtype() != DType::kF32 && p.dtype() != DType::kF64) {
    throw Error(std::string("[") + op + "] " + of + " is now " + text(p) +
                ": parameters must be float32 or float64");
  }
  if (!same(g)) {
    throw Error(std::string("[") + op + "] " + of + " is " + text(p) + ", its gradient " + text(g));
  }
  for (const Tensor& buffer : state.buffers) {
    if (!buffer.defined() || same(buffer)) continue;
    throw Error(std::string("[") + op + "] " + of + " is now " + text(p) + ", its state " +
                text(buffer) + ": make the optimizer after module.to()");
  }
}

}  // namespace wick::optim
