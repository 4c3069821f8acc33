// Stochastic gradient descent (torch.optim.SGD).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;

  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("momentum", momentum), f("dampening", dampening);
    f("weight_decay", weight_decay), f("nesterov", nesterov), f("maximize", maximize);
  }
  void check(const char* op, const Where& where) const;
};

struct SgdRule {
  static constexpr const char* kName = "sgd";
  static std::vector<const char*> buffers(const SgdOptions& o) {
    if (o.momentum == 0) return {};
    return {"momentum_buffer"};
  }
  // g += weight_decay p; b = g at first, then momentum b + (1 - dampening) g; p -= lr (g, b, or
  // with nesterov g + momentum b)
  template <class T>
  static void update(const SgdOptions& o, int64_t step, T* p, const T* g, T* const* buffers,
                     int64_t begin, int64_t end);
};
extern template class GroupOptimizer<SgdOptions, SgdRule>;

class SGD : public GroupOptimizer<SgdOptions, SgdRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
