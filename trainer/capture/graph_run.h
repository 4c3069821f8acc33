// One forward of a GraphModule.
#pragma once

#include <vector>

#include "trainer/capture/graph_module.h"

namespace wick::nn {

class GraphRun {
 public:
  GraphRun(const GraphModule& module, const Where& where);
  std::vector<Tensor> run(const ir::Graph& g, const GraphModule::Level& level,
                          const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> run_top(const std::vector<Tensor>& inputs) const;
  // Returns the present dtype of parameters that have `in_file` in the file.
  DType today(DType in_file) const { return in_file == given_ ? now_ : in_file; }

 private:
  using Level = GraphModule::Level;
  std::vector<Tensor> run_node(const ir::Graph& g, const ir::Node& n, const Level& level,
                               const std::vector<Level>& regions,
                               const std::vector<Tensor>& in) const;
  std::vector<Tensor> run_loop(const ir::Node& n, const Level& body,
                               const std::vector<Tensor>& in) const;
  bool trace_loop(const ir::Node& n, const Level& body, const std::vector<Tensor>& in,
                  Tracer* tracer, std::vector<Tensor>* out) const;
  Tensor folded_batch_norm(const ir::Node& n, const std::vector<Tensor>& in) const;
  bool condition(const Tensor& t, const char* what) const;

  const GraphModule& module_;
  const Where& where_;
  DType given_, now_;
};

}  // namespace wick::nn
