// Training of a model that will run on integers. Example:
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

struct QatOptions {
  Recipe recipe = qat_recipe();
  // Scales are parameters that learn by gradient (LSQ), from what the first batch gave; else they
  // follow the observers.
  bool learn_scales = false;
  // Epochs that train_epoch() lets pass before observers, and batch norms, are frozen; as
  // torchvision's reference for quantization-aware training has them. Below 0: never.
  int observer_epochs = 4, batch_norm_epochs = 3;
};

// Parameters are those of the float model, under their names, and with learn_scales the scales
// ("NAME_scale"). Buffers besides the model's own: "NAME_range", "NAME_scale", "NAME_zero_point" of
// each weight and activation, "observing" and "batch_norm_frozen": state_dict() resumes exactly.
//
// train(): each weight's range is today's, each activation's moves by the recipe's averaging
// towards the batch's least and largest value (the first batch's are taken whole), as PyTorch's
// MovingAverageMinMaxObserver does. eval(): nothing moves; batch norms are folded; the bits are
// those of convert(). Results do not depend on the number of threads.
class QatModule : public nn::GraphModule {
 public:
  // A float graph, which is prepared, or one that prepare_qat() made (then the recipe says how
  // observers move; the same as before, to resume). Errors: prepare_qat's.
  explicit QatModule(const ir::Graph& graph, const QatOptions& options = {});

  // Ranges, scales and zero points stay as they are in train() too; learned scales go on learning.
  void freeze_observers(bool frozen = true);
  bool observers_frozen() const;
  // Batch norms use the running statistics from now on, and leave them; their weight and bias go
  // on learning.
  void freeze_batch_norm(bool frozen = true);
  bool batch_norm_frozen() const override;
  // train(), with what the schedule says for this epoch (from 0) frozen.
  void train_epoch(int epoch);

  // The QDQ graph of today's weights (convert_qat). Error: no batch was seen in train().
  ir::Graph convert() const;
  // Today's weights without rounding: compare(net.unrounded(), {net.convert()}, batches) says what
  // rounding costs in each layer.
  ir::Graph unrounded() const;
  // Ends the training: eval(), in which forward() and run() from now on compute what is deployed,
  // the graph of integer ops that ir::lowered(convert()) is, op by op through the trainer's one
  // door. A forward in train() takes it back. The report says what stayed float.
  void freeze(ir::LowerReport* report = nullptr);
  // Null before freeze().
  const nn::GraphModule* integer() const { return integer_.get(); }
  const QatOptions& options() const { return options_; }

 protected:
  std::vector<Tensor> run_all(const std::vector<Tensor>& inputs, const Where& where) override;
  // Error: NaN or infinity in what passes, by the value's name; eval() before a batch was seen.
  bool observe(const ir::Node& node, std::vector<Tensor>* in, const Where& where) const override;

 private:
  struct Group {  // of those that share a scale
    Tensor range;
    bool weight = false;
    // A weight's: the scale of what it is multiplied with; the bias, or the batch norm whose fixed
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
