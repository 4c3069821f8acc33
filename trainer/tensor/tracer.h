// Tracer: observes every op that goes through the dispatcher. Graph capture is a tracer: it turns a
// model's forward into a graph without a second description of it.
#pragma once

#include <source_location>
#include <string>
#include <vector>

#include "runtime/ops/op_info.h"
#include "trainer/tensor/dim.h"
#include "trainer/tensor/intrusive.h"

namespace wick {

class Tensor;
struct ControlCall;  // trainer/tensor/control_call.h

// One executed call. Absent optional inputs are undefined tensors. View calls are reported too
// (Reshape, Slice ...).
struct TracedCall {
  OpId op;
  const void* attrs;  // the op's attribute struct
  Span<const Tensor* const> in;
  Span<const Tensor> out;
  const std::source_location& where;  // the user's line
};

class Tracer {
 public:
  virtual ~Tracer() = default;
  // Called after the op ran. Tensors are identified by Tensor::id(); keep a handle as long as an id
  // is used.
  virtual void on_call(const TracedCall& call) = 0;
  // Called before the value is read on the host: item(), data<T>(), printing. Throws Error to
  // refuse.
  virtual void on_read(const Tensor& tensor, const char* what,
                       const std::source_location& where) = 0;
  // Called when a size, or all of them, is read. Returns Dims that are followed, or as_dims() of
  // the plain ones; on_shape()'s reference stays valid as long as the tracer lives. Throw Error to
  // refuse.
  virtual Dim on_size(const Tensor& tensor, int dim, const std::source_location& where) = 0;
  virtual const DimShape& on_shape(const Tensor& tensor, const std::source_location& where) = 0;
  // Called before `result` (of the tensor's shape and dtype) is written into the bytes of `tensor`,
  // which may be a view. result is undefined for a write on the host: mutable_data<T>(). Throws
  // Error to refuse.
  virtual void on_write(const Tensor& tensor, const Tensor& result, const char* what,
                        const std::source_location& where) = 0;
  // Called before `tensor` takes the shape of `as`, a view of it, in place. `old`, which is still
  // empty, will represent the former tensor for views taken before; undefined if there are none.
  // Throws Error to refuse.
  virtual void on_reshape(const Tensor& tensor, const Tensor& as, const Tensor& old,
                          const char* what, const std::source_location& where) = 0;
  // A branch or a loop: runs its regions, each under a tracer of its own, then sets the results.
  // Returns false, with nothing run, if this tracer only records the calls of the branch that runs.
  virtual bool on_control(const ControlCall& call, std::vector<Tensor>* results);
  // Called before grad() or backward() of `tensors`, whose own ops are not reported. Throws Error
  // to refuse.
  virtual void on_gradient(const std::vector<Tensor>& tensors, const char* what,
                           const std::source_location& where);
};

// Returns this thread's tracer, or null.
Tracer* active_tracer();

// Makes `tracer` this thread's tracer while it lives; null switches tracing off.
class TracerScope {
 public:
  explicit TracerScope(Tracer* tracer);
  ~TracerScope();
  TracerScope(const TracerScope&) = delete;
  TracerScope& operator=(const TracerScope&) = delete;

 private:
  Tracer* saved_;
};

// Returns the module path in which this thread is running: "layer1.0.conv1", "" outside of modules.
std::string module_path();
// The same path, made once per module call and shared; null outside of modules.
struct PathText final : Counted {
  std::string text;
};
IntrusivePtr<const PathText> module_path_text();

// Created by nn::Module around its forward. `name` must outlive the scope; "" adds nothing to the
// path.
class ModuleScope {
 public:
  explicit ModuleScope(const std::string& name);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  friend std::string module_path();
  friend IntrusivePtr<const PathText> module_path_text();
  const std::string* name_;
  ModuleScope* outer_;
  IntrusivePtr<const PathText> text_;
};

}  // namespace wick
