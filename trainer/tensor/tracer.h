// Tracer: sees every op that goes through the door. Graph capture is one; it is how a model's
// forward becomes a graph without a second description of it.
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

// One executed call. Absent optional inputs are undefined tensors. Views are calls too (Reshape,
// Slice ...).
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
  // After the op ran. Tensors are identified by Tensor::id(); keep a handle for as long as an id is
  // used.
  virtual void on_call(const TracedCall& call) = 0;
  // Before the value is read on the host: item(), data<T>(), printing. Throw Error to refuse.
  virtual void on_read(const Tensor& tensor, const char* what,
                       const std::source_location& where) = 0;
  // A size, or all of them, which somebody asks for: Dims that are followed, or as_dims() of the
  // plain ones. They stay where they are for as long as the tracer lives. Throw Error to refuse.
  virtual Dim on_size(const Tensor& tensor, int dim, const std::source_location& where) = 0;
  virtual const DimShape& on_shape(const Tensor& tensor, const std::source_location& where) = 0;
  // Before `result` (of the tensor's shape and dtype) is written into the bytes of `tensor`, a view
  // or not. result is undefined for a write on the host: mutable_data<T>(). Throw Error to refuse.
  virtual void on_write(const Tensor& tensor, const Tensor& result, const char* what,
                        const std::source_location& where) = 0;
  // Before `tensor` takes the shape of `as`, a view of it, in place. `old`, empty as yet, will
  // stand for what it was, to the views taken before; undefined where there are none. Throw Error
  // to refuse.
  virtual void on_reshape(const Tensor& tensor, const Tensor& as, const Tensor& old,
                          const char* what, const std::source_location& where) = 0;
  // A branch or a loop: runs its regions, each with a tracer that sees what belongs to it, then
  // gives the results. False, and nothing is run: this tracer sees what is taken, like any calls.
  virtual bool on_control(const ControlCall& call, std::vector<Tensor>* results);
};

// This thread's tracer, or null.
Tracer* active_tracer();

// Makes `tracer` this thread's for as long as it lives; null switches tracing off.
class TracerScope {
 public:
  explicit TracerScope(Tracer* tracer);
  ~TracerScope();
  TracerScope(const TracerScope&) = delete;
  TracerScope& operator=(const TracerScope&) = delete;

 private:
  Tracer* saved_;
};

// Where in the model this thread is: "layer1.0.conv1", "" outside of modules.
std::string module_path();
// The same, made once a module call and shared; null outside of modules.
struct PathText final : Counted {
  std::string text;
};
IntrusivePtr<const PathText> module_path_text();

// Pushed by nn::Module around its forward. `name` must outlive the scope; "" adds nothing to the
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
