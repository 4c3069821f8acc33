// GraphTracer: appends every traced call to a Graph, whose sizes are this run's. A graph has no
// writes: a base stands for its newest value, a write through a view scatters into it, and the
// other views are derived anew.
#pragma once

#include <map>
#include <string>

#include "graph/ir/graph.h"
#include "trainer/tensor/size_log.h"
#include "trainer/tensor/tensor.h"
#include "trainer/tensor/tracer.h"

namespace wick {

HostTensor host_copy(const Tensor& t);  // any strides

// Parameters as they enter graphs, by name: the runs of one capture share them.
using SharedWeights = std::map<std::string, HostTensor>;

class GraphTracer final : public Tracer {
 public:
  GraphTracer(ir::Graph& graph, SharedWeights& weights) : g_(graph), weights_(weights) {}

  // `value` stands for the tensor from now on.
  void bind(const Tensor& tensor, ir::ValueId value);
  // Enters the graph as a constant of this name when first read.
  void bind_parameter(const std::string& name, const Tensor& tensor);
  // The value of a forward's result; one made outside of every op is an error.
  ir::ValueId result(const Tensor& tensor);
  SizeLog& sizes() { return sizes_; }

  void on_call(const TracedCall& call) override;
  void on_read(const Tensor& tensor, const char* what, const std::source_location& where) override;
  Dim on_size(const Tensor& tensor, int dim, const std::source_location& where) override;
  const DimShape& on_shape(const Tensor& tensor, const std::source_location& where) override;
  void on_write(const Tensor& tensor, const Tensor& result, const char* what,
                const std::source_location& where) override;
  void on_reshape(const Tensor& tensor, const Tensor& as, const Tensor& old, const char* what,
                  const std::source_location& where) override;

 private:
  struct Bound {
    ir::ValueId value;
    uint32_t generation;  // of the base's bytes when the value was right
  };
  ir::ValueId value_of(const Tensor& tensor, const std::source_location& where);
  void refuse_parameter(const Tensor& base, const char* what,
                        const std::source_location& where) const;
  // The value of a tensor or of its base, kNoValue where neither entered the graph yet.
  ir::ValueId known(const Tensor& tensor) const;
  ir::ValueId constant(const Tensor& tensor);
  // Sets module path and line of what an op of the model added.
  ir::NodeId add(OpId op, const AnyAttrs& attrs, std::vector<ir::ValueId> inputs, int outputs,
                 const std::source_location& where);
  ir::ValueId emit(OpId op, const AnyAttrs& attrs, std::vector<ir::ValueId> inputs,
                   const std::source_location& where);
  ir::ValueId shaped_like(ir::ValueId value, ir::ValueId like, bool broadcast,
                          const std::source_location& where);

  ir::Graph& g_;
  SharedWeights& weights_;
  std::map<uint64_t, Bound> values_;
  std::map<uint64_t, uint32_t> generations_;  // of bases that were written to
  std::map<uint64_t, std::string> parameters_;
  SizeLog sizes_;
  std::map<ir::ValueId, DimShape> shapes_;  // that were asked for
  std::vector<Tensor> alive_;               // ids stay taken for as long as the trace needs them
};

}  // namespace wick
