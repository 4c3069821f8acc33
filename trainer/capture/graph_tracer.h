// GraphTracer: appends every traced call to a Graph, whose sizes are this run's. A graph has no
// writes: a base stands for its newest value, a write through a view scatters into it, and the
// other views are derived anew. A region of a branch or loop has a tracer of its own.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/ir/graph.h"
#include "trainer/capture/control.h"
#include "trainer/tensor/size_log.h"
#include "trainer/tensor/tensor.h"
#include "trainer/tensor/tracer.h"

namespace wick {

HostTensor host_copy(const Tensor& t);  // any strides

// Parameters as they enter graphs, by name: the runs of one capture share them.
using SharedWeights = std::map<std::string, HostTensor>;

// A value of a region whose size forward read: SizeLog's entries name it by region_entry().
struct RegionValue {
  int region;  // as the run counts them
  ir::ValueId value;
};
inline int32_t region_entry(int32_t index) { return -2 - index; }
inline constexpr const char* kRegionNumber = "region";  // in the metadata of a run's region

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
  const std::vector<RegionValue>& region_values() const { return region_values_; }

  void on_call(const TracedCall& call) override;
  void on_read(const Tensor& tensor, const char* what, const std::source_location& where) override;
  Dim on_size(const Tensor& tensor, int dim, const std::source_location& where) override;
  const DimShape& on_shape(const Tensor& tensor, const std::source_location& where) override;
  void on_write(const Tensor& tensor, const Tensor& result, const char* what,
                const std::source_location& where) override;
  void on_reshape(const Tensor& tensor, const Tensor& as, const Tensor& old, const char* what,
                  const std::source_location& where) override;
  bool on_control(const ControlCall& call, std::vector<Tensor>* results) override;

 private:
  // Of a region of a node that `outside` is about to have.
  GraphTracer(ir::Graph& region, GraphTracer& outside, std::string part);
  GraphTracer& root() { return outside_ == nullptr ? *this : outside_->root(); }
  // Whether a graph that this one stands in has a value for the tensor or its base.
  bool outside_has(const Tensor& tensor) const;
  // Whether the tensor's value depends on what the graph is given.
  bool traced(const Tensor& tensor) const;
  // In a region: what was there before it is read, not written.
  void refuse_outer_write(const Tensor& base, const char* what, const std::source_location& where);
  // What a region made stays in it.
  void refuse_inner(const Tensor& tensor, const std::source_location& where);
  std::string condition_text(const Tensor& tensor) const;
  struct Bound {
    ir::ValueId value;
    uint32_t generation;  // of the base's bytes when the value was right
  };
  ir::ValueId value_of(const Tensor& tensor, const std::source_location& where);
  void refuse_parameter(const Tensor& base, const char* what,
                        const std::source_location& where) const;
  // The value of a tensor or of its base, kNoValue where neither entered the graph yet.
  ir::ValueId known(const Tensor& tensor) const;
  ir::ValueId constant(const Tensor& tensor, const std::source_location& where);
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
  // -- of a region
  GraphTracer* outside_ = nullptr;
  std::string part_;    // "then_fn of cond (net.cc:12)"
  uint64_t since_ = 0;  // ids ascend: what the region made has greater ones
  int number_ = 0;
  std::optional<RegionCaptures> captures_;
  // -- of the whole trace
  int regions_ = 0;
  std::vector<RegionValue> region_values_;
  std::map<uint64_t, std::string> inner_;  // what regions made, by id: the region's `part`
};

}  // namespace wick
