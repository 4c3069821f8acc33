// GraphModule: a graph as a module, e.g. an ONNX file that is to be trained further. Example
// (fine-tuning; import_onnx() is in <wick/compile.h>):
//
//   nn::GraphModule body = nn::import_onnx("mobilenet_v2.onnx");
//   body.set_output("/Flatten_output_0");                  // the features, without the old head
//   nn::Sequential net(std::move(body), nn::Linear(1280, 10));
//   net.children()[0].second->requires_grad_(false);       // to train the head alone
//   ... train as any module, then export_onnx(capture(net, ...), "mine.onnx")
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/nn/module.h"

namespace wick::nn {

// Every node runs through the trainer's dispatcher, like the trainer's functions, so that autograd,
// hooks and capture see it. In messages and profiles a node appears as a module of its name.
//
// Parameters: the floats that nodes read as weights, under their names in the file;
// "features.0.weight" becomes "weight" of nested children, as in PyTorch's state_dict. Not
// parameters: single numbers that are not a layer's weight (an epsilon, a factor), bounds and
// exponents, values with an infinity (masks). Buffers: the running statistics of
// BatchNormalization, and every other initializer.
//
// In train mode BatchNormalization uses the statistics of the batch and updates the running ones as
// torch.nn.BatchNorm2d does, and Dropout drops. Exporters fold a BatchNorm that follows a
// convolution into it: then the graph has none (batch_norms() counts), and train() changes nothing
// there. If and Loop run the region that the condition selects, and gradients are those of the
// trips that ran; under capture() they become If and Loop again, except for a Loop that changes the
// shape of a carried value.
class GraphModule : public Module {
 public:
  // Throws Error for sequences, optionals and strings, which have no tensors in the trainer.
  explicit GraphModule(ir::Graph graph);

  // Maps the one input to the first output. Sizes that the file fixes (a batch of 1) are not
  // enforced: any size that the nodes themselves accept is allowed.
  Tensor forward(const Arg& x) override;
  // Runs any number of inputs, in the graph's order or by name.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, Where where = Where::current());
  std::vector<Tensor> run(std::initializer_list<Tensor> inputs, Where where = Where::current()) {
    return run(std::vector<Tensor>(inputs), where);  // run({a, b}), which could also be a map
  }
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs,
                                    Where where = Where::current());

  // Makes values of the graph its outputs, and removes nodes, parameters and inputs that no output
  // needs. The names are those in the file: `wick inspect --values` and ir::print(graph()) show
  // them.
  void set_output(const std::string& value, Where where = Where::current());
  // The same for several values.
  void set_outputs(const std::vector<std::string>& values, Where where = Where::current());

  // Return the names of the graph's inputs and outputs, in order.
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  // Return the number of nodes that train() and eval() affect.
  size_t batch_norms() const;
  size_t dropouts() const;
  // Sets the weight of a batch's statistics in the running ones; 0.1 by default, as in PyTorch.
  void set_batch_norm_momentum(double momentum) { momentum_ = momentum; }
  // Makes train mode normalize by the running statistics, and leave them unchanged.
  void freeze_batch_norm(bool frozen = true) { batch_norm_frozen_ = frozen; }
  // Returns whether it does.
  virtual bool batch_norm_frozen() const { return batch_norm_frozen_; }

  const ir::Graph& graph() const { return graph_; }  // as it was read, with the original weights
  // Returns the graph with the current weights and the file's names, sizes, inputs and outputs, for
  // export_onnx() and export_wick(). To export a net around this module, capture() it.
  ir::Graph to_graph() const;

 protected:
  // Implements forward() and run().
  virtual std::vector<Tensor> run_all(const std::vector<Tensor>& inputs, const Where& where);
  // Called before a FakeQuantize runs: its inputs are x, scale, zero point, and optionally an
  // observer's state. An observer writes to the last three; then the node runs with the tensors in
  // `in`. If observe() returns false, the node returns x unchanged.
  virtual bool observe(const ir::Node& node, std::vector<Tensor>* in, const Where& where) const;

 private:
  friend class GraphRun;
  // The tensors of a graph or region: that of each constant, by value, and the regions by node.
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
  std::map<std::string, Tensor> by_name_;  // registered tensors, under the name in the file
  std::set<std::string> bound_;            // names of those that the graph reads
  std::map<std::string, bool> paths_;      // paths in state_dict; true: a tensor, false: a child
  DType given_ = DType::kF32;              // the parameters' dtype in the file, and one of them:
  Tensor typed_;                           // its dtype now is what to() set
  double momentum_ = 0.1;
  bool batch_norm_frozen_ = false;
};

}  // namespace wick::nn
