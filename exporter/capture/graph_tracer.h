// GraphTracer: appends every traced call to a Graph.
#pragma once

#include <map>
#include <string>

#include "graph/ir/graph.h"
#include "trainer/tensor/tensor.h"
#include "trainer/tensor/tracer.h"

namespace wick {

HostTensor host_copy(const Tensor& t);  // any strides

class GraphTracer final : public Tracer {
 public:
  explicit GraphTracer(ir::Graph& graph) : g_(graph) {}

  // `value` stands for the tensor from now on.
  void bind(const Tensor& tensor, ir::ValueId value);
  // Enters the graph as a constant of this name when first read.
  void bind_parameter(const std::string& name, const Tensor& tensor);
  // The value of a forward's result; one made outside of every op is an error.
  ir::ValueId result(const Tensor& tensor);

  void on_call(const TracedCall& call) override;
  void on_read(const Tensor& tensor, const char* what, const std::source_location& where) override;
  void on_shape_read(const Tensor& tensor, int dim, const std::source_location& where) override;
  void on_write(const Tensor& tensor, const Tensor& result, const char* what,
                const std::source_location& where) override;

 private:
  ir::ValueId value_of(const Tensor& tensor);

  ir::Graph& g_;
  std::map<uint64_t, ir::ValueId> values_;
  std::map<uint64_t, std::string> parameters_;
  std::vector<Tensor> alive_;  // ids stay taken for as long as the trace needs them
};

}  // namespace wick
