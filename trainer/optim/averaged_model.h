// Averages of a model's weights during training (torch.optim.swa_utils): SWA (Izmailov et al. 2018)
// and exponential moving averages.
#pragma once

#include <functional>
#include <memory>

#include "trainer/nn/module.h"

namespace wick::optim {

// Returns the new average of a tensor, given the old one, the model's tensor, and how many are
// averaged so far.
using AvgFn =
    std::function<Tensor(const Tensor& averaged, const Tensor& model, int64_t n_averaged)>;
AvgFn swa_avg_fn();                      // averaged + (model - averaged) / (n + 1): the plain mean
AvgFn ema_avg_fn(double decay = 0.999);  // decay averaged + (1 - decay) model; decay in [0, 1]

// A module whose parameters are averages of another's. C++ cannot copy a module of unknown type:
// `copy` is a second one, made like the model, whose values are overwritten.
//
//   optim::AveragedModel average(net, std::make_shared<Net>());
//   ... optimizer.step(); average.update_parameters(net); ...
//   optim::update_bn(batches, average);  // for SWA, if the model has batch norm
//   Tensor y = average(x);
//
// state_dict() has PyTorch's names: "n_averaged", "module.fc1.weight" ...
class AveragedModel : public nn::Module {
 public:
  // Buffers keep the values of the time of construction, unless use_buffers is set: then they are
  // averaged too (integers are truncated), as in PyTorch. Throws Error if copy and model differ in
  // names or shapes.
  AveragedModel(const nn::Module& model, std::shared_ptr<nn::Module> copy,
                AvgFn avg_fn = swa_avg_fn(), bool use_buffers = false,
                Where where = Where::current());

  // The first call copies, later calls average.
  void update_parameters(const nn::Module& model, Where where = Where::current());
  // How many models are averaged, and the module that holds the averages.
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
// batches, in one forward pass in training mode. `next` fills x and returns true, or returns false
// at the end. A model without batch norm is not run. The mode is restored afterwards.
void update_bn(const std::function<bool(Tensor& x)>& next, nn::Module& model);

}  // namespace wick::optim
