#include "trainer/autograd/grad/common.h"

#include "trainer/tensor/device/vulkan_memory.h"

namespace wick {

Tensor zeros_of(const GradCtx& c, size_t i) {
  return zeros_beside(c.g(), c.in_shape(i), c.in_dtype(i));
}

void grad_through(GradCtx& c,
                  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& meaning) {
  bool higher = grad_enabled();
  std::vector<Tensor> in(c.inputs()), wanted;
  std::vector<size_t> places;
  GradMode on(true);
  for (size_t i = 0; i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    in[i] = c.in(i);
    if (!c.needs(i)) continue;
    // The formula gets its own handle: for higher orders a recorded view, so that the history of
    // the results reaches x. In forward mode x may have no history.
    bool follow = higher && in[i].requires_grad();
    in[i] = follow ? in[i].reshape(in[i].raw_shape()) : in[i].detach().requires_grad_();
    wanted.push_back(in[i]);
    places.push_back(i);
  }
  std::vector<Tensor> all = meaning(in), outputs, grads;
  for (size_t i = 0; i < c.outputs(); ++i) {
    if (!c.g(i).defined() || !all[i].requires_grad()) continue;
    outputs.push_back(all[i]);
    grads.push_back(c.g(i));
  }
  auto results = grad(outputs, wanted, grads, higher, higher, true);
  for (size_t i = 0; i < places.size(); ++i) c.set(places[i], results[i]);
}

}  // namespace wick
