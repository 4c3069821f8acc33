// A graph as a module: an ONNX file, to be trained further. Example (fine-tuning; import_onnx() is
// of <wick/compile.h>):
//
//   nn::GraphModule body = nn::import_onnx("mobilenet_v2.onnx");
//   body.set_output("/Flatten_output_0");                  // the features, without the old head
//   nn::Sequential net(std::move(body), nn::Linear(1280, 10));
//   net.children()[0].second->requires_grad_(false);       // the head alone, if you like
//   ... train as any module, then export_onnx(capture(net, ...), "mine.onnx")
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/nn/module.h"

namespace wick::nn {

// Every node runs through the trainer's one door, as the functions of the trainer do, so that
// autograd, hooks and capture see it. In messages and profiles a node is a module of its name.
//
// Parameters: the floats that nodes read as weights, under their names in the file;
// "features.0.weight" is "weight" of children, as in PyTorch's state_dict. Not parameters: one
// number alone, unless it is a layer's weight (an epsilon, a factor), bounds and exponents, values
// with an infinity (masks). Buffers: the running statistics of BatchNormalization, and every other
// initializer.
//
// train(): BatchNormalization takes the statistics of the batch and updates the running ones as
// torch.nn.BatchNorm2d does; Dropout drops. Exporters fold a BatchNorm behind a convolution into
// it: then there is none (batch_norms() counts), and train() changes nothing there. If and Loop run
// the region that today's condition chooses, and gradients are of the trips that it took; under
// capture() they are If and Loop again, but for a Loop that changes the shape of what it carries.
class GraphModule : public Module {
 public:
  // Error: sequences, optionals and strings, of which the trainer has no tensors.
  explicit GraphModule(ir::Graph graph);

  // The one input -> the first output. Sizes that the file fixes (a batch of 1) are not held to:
  // what the nodes themselves take, fits.
  Tensor forward(const Arg& x) override;
  // Of any number, in the graph's order or by name. Hooks of forward() do not run.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, Where where = Where::current());
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs,
                                    Where where = Where::current());

  // Values of the graph become its outputs; nodes, parameters and inputs that no output needs go.
  // Names are those of the file: `wick inspect --values` and ir::print(graph()) show them.
  void set_output(const std::string& value, Where where = Where::current());
  void set_outputs(const std::vector<std::string>& values, Where where = Where::current());

  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  // How many nodes train() and eval() make a difference to.
  size_t batch_norms() const;
  size_t dropouts() const;
  // How much of a batch's statistics enters the running ones; 0.1 as in PyTorch.
  void set_batch_norm_momentum(double momentum) { momentum_ = momentum; }
  // train() normalizes by the running statistics too, and leaves them as they are.
  void freeze_batch_norm(bool frozen = true) { batch_norm_frozen_ = frozen; }
  virtual bool batch_norm_frozen() const { return batch_norm_frozen_; }

  const ir::Graph& graph() const { return graph_; }  // as it was read, with the old weights
  // With today's weights and the file's names, sizes, inputs and outputs: for export_onnx() and
  // export_wick(). A net around this module is exported by capture().
  ir::Graph to_graph() const;

 protected:
  // What forward() and run() do.
  virtual std::vector<Tensor> run_all(const std::vector<Tensor>& inputs, const Where& where);
  // Before a FakeQuantize runs: its inputs are x, scale, zero point, and an observer's state or
  // none. An observer writes to the tensors of the last three; the node runs on what is in `in`
  // then, or (false) gives x as it is.
  virtual bool observe(const ir::Node& node, std::vector<Tensor>* in, const Where& where) const;

 private:
  friend class GraphRun;
  // Of a graph or a region: the tensor of each constant, by value, and the regions by node.
  struct Level {
    std::vector<Tensor> constants;
    std::vector<std::vector<Level>> regions;
  };
  void rebuild();
  Level bind(const ir::Graph& g);
  Tensor bind_constant(const ir::Value& v, bool weight, bool statistic);
  void register_tensor(const std::string& name, const Tensor& value, bool parameter);
  static void write_back(const Level& level, ir::Graph* g);

  ir::Graph graph_;
  Level top_;
  std::map<std::string, Tensor> by_name_;  // what is registered, under the file's name
  std::set<std::string> bound_;            // those of them that the graph reads
  std::map<std::string, bool> paths_;      // of state_dict: true: a tensor, false: a child
  DType given_ = DType::kF32;              // the parameters' dtype in the file, and one of them:
  Tensor typed_;                           // its dtype is what to() made of it
  double momentum_ = 0.1;
  bool batch_norm_frozen_ = false;
};

}  // namespace wick::nn
