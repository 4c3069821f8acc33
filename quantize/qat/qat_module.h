// Trains a model that will run on integers. Example:
//
//   CaptureInput image{"image", zeros({1, 1, 28, 28}), {{0, "batch"}}, {}};
//   quantize::QatModule net(capture(trained, {image}));
//   for (int epoch = 0; epoch < 8; ++epoch) {
//     net.train_epoch(epoch);                 // observers and batch norms freeze on schedule
//     ... train as any module
//   }
//   net.eval();                               // computes what the QDQ graph computes
//   export_onnx(net.convert(), "net.qdq.onnx");
#pragma once

#include <map>
#include <memory>
#include <string>

#include "graph/passes/lower_qdq.h"
#include "quantize/qat/prepare.h"
#include "trainer/capture/graph_module.h"

namespace wick::quantize {

// Options of QatModule.
struct QatOptions {
  Recipe recipe = qat_recipe();  // what is quantized, and how
  // Scales are parameters that learn by gradient (LSQ), starting from the first batch; otherwise
  // they follow the observers.
  bool learn_scales = false;
  // The number of epochs after which train_epoch() freezes observers, and batch norms, as in
  // torchvision's reference for quantization-aware training. Below 0: never.
  int observer_epochs = 4, batch_norm_epochs = 3;
};

// Parameters are those of the float model, under their names, and with learn_scales the scales
// ("NAME_scale"). Buffers besides the model's own are "NAME_range", "NAME_scale" and
// "NAME_zero_point" of each weight and activation, "observing" and "batch_norm_frozen":
// state_dict() resumes exactly.
//
// In train() each weight's range is the current one, and each activation's moves by the recipe's
// averaging towards the batch's least and largest value (the first batch's are taken whole), as
// PyTorch's MovingAverageMinMaxObserver does. In eval() nothing moves; batch norms are folded; the
// bits are those of convert(). Results do not depend on the number of threads.
class QatModule : public nn::GraphModule {
 public:
  // Takes a float graph, which is prepared, or one that prepare_qat() made (then the recipe says
  // how observers move; the same as before, to resume). Throws prepare_qat's errors.
  explicit QatModule(const ir::Graph& graph, const QatOptions& options = {});

  // Keeps ranges, scales and zero points as they are in train() too; learned scales go on learning.
  void freeze_observers(bool frozen = true);
  // Returns whether they are kept.
  bool observers_frozen() const;
  // Batch norms use the running statistics from now on and do not update them; their weight and
  // bias go on learning.
  void freeze_batch_norm(bool frozen = true);
  bool batch_norm_frozen() const override;
  // Runs train() with the parts frozen that the schedule says for this epoch (from 0).
  void train_epoch(int epoch);

  // Returns the QDQ graph of the current weights (convert_qat). Throws Error if no batch was seen
  // in train().
  ir::Graph convert() const;
  // Returns the current weights without rounding: compare(net.unrounded(), {net.convert()},
  // batches) says what rounding costs in each layer.
  ir::Graph unrounded() const;
  // Ends the training with eval(): from now on forward() and run() compute what is deployed, the
  // graph of integer ops that ir::lowered(convert()) is, op by op through the trainer's one entry
  // point for ops. A forward in train() undoes this. The report says what stayed float.
  void freeze(ir::LowerReport* report = nullptr);
  // Returns null before freeze().
  const nn::GraphModule* integer() const { return integer_.get(); }
  // Returns the options of the constructor.
  const QatOptions& options() const { return options_; }

 protected:
  std::vector<Tensor> run_all(const std::vector<Tensor>& inputs, const Where& where) override;
  // Throws Error for NaN or infinity in a value, by its name, and for eval() before a batch was
  // seen.
  bool observe(const ir::Node& node, std::vector<Tensor>* in, const Where& where) const override;

 private:
  struct Group {  // the values that share a scale
    Tensor range;
    bool weight = false;
    // For a weight: the scale of what it is multiplied by; the bias, or the batch norm whose fixed
    // form makes it: gamma, beta, mean, var, the layer's own bias.
    Tensor input_scale, bias;
    std::vector<Tensor> norm;
    double eps = 0;
  };
  void find_bias(const ir::Node& layer, const std::map<std::string, Tensor>& by_name, Group* group);
  std::vector<float> least_scales(const Group& group, size_t count) const;
  void lift_scales() const;
  void move_range(const ir::Node& node, const Group& group, const std::vector<Tensor>& in,
                  const Where& where) const;
  void first_scale(const ir::Node& node, const Group& group, const std::vector<Tensor>& in,
                   const Where& where) const;

  QatOptions options_;
  std::map<ir::ValueId, Group> groups_;                   // by the scale
  std::vector<std::pair<Tensor, const Group*>> learned_;  // scales
  Tensor observing_, frozen_norm_;
  std::shared_ptr<nn::GraphModule> integer_;
};

}  // namespace wick::quantize
