// Averages of a model's weights over training (torch.optim.swa_utils): SWA (Izmailov et al. 2018)
// and exponential moving averages.
#pragma once

#include <functional>
#include <memory>

#include "trainer/nn/module.h"

namespace wick::optim {

// The new average of a tensor, from the one that is there, the model's, and how many it holds.
using AvgFn =
    std::function<Tensor(const Tensor& averaged, const Tensor& model, int64_t n_averaged)>;
AvgFn swa_avg_fn();                      // averaged + (model - averaged) / (n + 1): the plain mean
AvgFn ema_avg_fn(double decay = 0.999);  // decay averaged + (1 - decay) model; decay in [0, 1]

// A module whose parameters are averages of another's. C++ cannot copy a module it does not know:
// `copy` is a second one, made like the model, whose values are overwritten.
//
//   optim::AveragedModel average(net, std::make_shared<Net>());
//   ... optimizer.step(); average.update_parameters(net); ...
//   optim::update_bn(batches, average);  // SWA, where the model has batch norm
//   Tensor y = average(x);
//
// state_dict() has PyTorch's names: "n_averaged", "module.fc1.weight" ...
class AveragedModel : public nn::Module {
 public:
  // Buffers stay what they were then, unless use_buffers: then they are averaged too (integer ones
  // truncated), as PyTorch does. An Error where copy and model differ in names or shapes.
  AveragedModel(const nn::Module& model, std::shared_ptr<nn::Module> copy,
                AvgFn avg_fn = swa_avg_fn(), bool use_buffers = false,
                Where where = Where::current());

  // The first call copies, each later one averages.
  void update_parameters(const nn::Module& model, Where where = Where::current());
  int64_t n_averaged() const { return n_averaged_.item_int(); }
  nn::Module& module() const { return *module_; }
  Tensor forward(const Arg& x) override { return (*module_)(x); }

 private:
  std::shared_ptr<nn::Module> module_;
  AvgFn avg_fn_;
  bool use_buffers_;
  Tensor n_averaged_;
};

// Sets the running statistics of every batch norm of the model to the plain averages over the
// batches that `next` gives (true: it filled x), in one pass forward in training mode. A model
// without batch norm is not run; the mode is put back.
void update_bn(const std::function<bool(Tensor& x)>& next, nn::Module& model);

}  // namespace wick::optim
