// GraphTracer: appends every traced call to a Graph with the sizes of this run. A graph has no
// in-place writes: a base stands for its newest value, a write through a view is a scatter into it,
// and the other views are derived again. Each region of a branch or loop has its own tracer.
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

// Constants of the parameters by name, shared by all runs of a capture.
using SharedWeights = std::map<std::string, HostTensor>;

// A value of a region whose size forward read. SizeLog's entries refer to it by region_entry().
struct RegionValue {
  int region;  // numbered by the run
  ir::ValueId value;
};
inline int32_t region_entry(int32_t index) { return -2 - index; }
inline constexpr const char* kRegionNumber = "region";  // key in the metadata of a run's region

class GraphTracer final : public Tracer {
 public:
  GraphTracer(ir::Graph& graph, SharedWeights& weights) : g_(graph), weights_(weights) {}

  // From now on `value` stands for the tensor.
  void bind(const Tensor& tensor, ir::ValueId value);
  // The parameter becomes a constant of this name when it is first read.
  void bind_parameter(const std::string& name, const Tensor& tensor);
  // Returns the value of a tensor that forward returned; it is an error if no op made it.
  ir::ValueId result(const Tensor& tensor);
  SizeLog& sizes() { return sizes_; }
  const std::vector<RegionValue>& region_values() const { return region_values_; }

  void on_call(const TracedCall& call) override;
  void on_read(const Tensor& tensor, const char* what, const std::source_location& where) override;
  void on_gradient(const std::vector<Tensor>& tensors, const char* what,
                   const std::source_location& where) override;
  Dim on_size(const Tensor& tensor, int dim, const std::source_location& where) override;
  const DimShape& on_shape(const Tensor& tensor, const std::source_location& where) override;
  void on_write(const Tensor& tensor, const Tensor& result, const char* what,
                const std::source_location& where) override;
  void on_reshape(const Tensor& tensor, const Tensor& as, const Tensor& old, const char* what,
                  const std::source_location& where) override;
  bool on_control(const ControlCall& call, std::vector<Tensor>* results) override;

 private:
  // The tracer of a region of a node that is about to be added to the graph of `outside`.
  GraphTracer(ir::Graph& region, GraphTracer& outside, std::string part);
  GraphTracer& root() { return outside_ == nullptr ? *this : outside_->root(); }
  // Returns whether one of the enclosing graphs has a value for the tensor or its base.
  bool outside_has(const Tensor& tensor) const;
  // Returns whether the tensor's value depends on the graph's inputs.
  bool traced(const Tensor& tensor) const;
  // Returns whether it is certain that the tensor is computed from weights alone.
  bool of_weights(const Tensor& tensor) const;
  // In a region: refuses a write to a tensor that was made outside of it.
  void refuse_outer_write(const Tensor& base, const char* what, const std::source_location& where);
  // Refuses a tensor that was made inside a region and is used outside of it.
  void refuse_inner(const Tensor& tensor, const std::source_location& where);
  std::string condition_text(const Tensor& tensor) const;
  struct Bound {
    ir::ValueId value;
    uint32_t generation;  // of the base's bytes when `value` was up to date
  };
  ir::ValueId value_of(const Tensor& tensor, const std::source_location& where);
  void refuse_parameter(const Tensor& base, const char* what,
                        const std::source_location& where) const;
  // Returns the value of a tensor or of its base, or kNoValue if neither is in the graph yet.
  ir::ValueId known(const Tensor& tensor) const;
  ir::ValueId constant(const Tensor& tensor, const std::source_location& where);
  // Adds a node, and sets its module path and source line.
  ir::NodeId add(OpId op, const AnyAttrs& attrs, std::vector<ir::ValueId> inputs, int outputs,
                 const std::source_location& where);
  ir::ValueId emit(OpId op, const AnyAttrs& attrs, std::vector<ir::ValueId> inputs,
                   const std::source_location& where);
  ir::ValueId shaped_like(ir::ValueId value, ir::ValueId like, bool broadcast,
                          const std::source_location& where);

  ir::Graph& g_;
  SharedWeights& weights_;
  std::map<uint64_t, Bound> values_;
  std::map<uint64_t, uint32_t> generations_;  // number of writes to a base
  std::map<uint64_t, std::string> parameters_;
  SizeLog sizes_;
  std::map<ir::ValueId, DimShape> shapes_;  // those that forward asked for
  std::vector<Tensor> alive_;               // keeps ids from being reused during the trace
  // -- only for a region
  GraphTracer* outside_ = nullptr;
  std::string part_;    // "then_fn of cond (net.cc:12)"
  uint64_t since_ = 0;  // ids increase: tensors made in the region have greater ones
  int number_ = 0;
  std::optional<RegionCaptures> captures_;
  // -- of the whole trace
  int regions_ = 0;
  std::vector<RegionValue> region_values_;
  std::map<uint64_t, std::string> inner_;  // tensors made in regions, by id: the region's `part`
};

}  // namespace wick
