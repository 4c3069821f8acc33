#include "trainer/capture/graph_tracer.h"

#include <fmt/core.h>

#include <cstring>

#include "runtime/kernels/copy.h"
#include "runtime/registry/registry.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

ir::SourceLine source_line(const std::source_location& where) {
  std::string text = to_text(where);
  return {text.substr(0, text.rfind(':')), static_cast<int>(where.line())};
}

Tensor base_of(const Tensor& t) { return Tensor(IntrusivePtr<TensorImpl>(bytes_root(t.impl()))); }

AnyAttrs attrs_of(OpId op, const void* attrs) {
  AnyAttrs copy;
  const AttrType* type = op_info(op)->attrs;
  type->init(copy.get());
  if (attrs == nullptr) return copy;
  for (const AttrField& f : type->fields) {
    size_t bytes = f.kind == AttrKind::kInts ? 8 * (f.capacity + size_t{1}) : 8;
    memcpy(static_cast<char*>(copy.get()) + f.offset, static_cast<const char*>(attrs) + f.offset,
           bytes);
  }
  return copy;
}

}  // namespace

HostTensor host_copy(const Tensor& t) {
  HostTensor copy(t.dtype(), t.raw_shape());
  if (t.raw().numel() != 0) copy_strided(t.raw(), copy.view());
  return copy;
}

void GraphTracer::bind(const Tensor& tensor, ir::ValueId value) {
  auto at = generations_.find(base_of(tensor).id());
  values_[tensor.id()] = {value, at == generations_.end() ? 0 : at->second};
  alive_.push_back(tensor);
}

void GraphTracer::bind_parameter(const std::string& name, const Tensor& tensor) {
  parameters_[tensor.id()] = name;
  alive_.push_back(tensor);
}

ir::ValueId GraphTracer::known(const Tensor& tensor) const {
  auto at = values_.find(tensor.id());
  if (at == values_.end()) at = values_.find(base_of(tensor).id());
  return at == values_.end() ? ir::kNoValue : at->second.value;
}

ir::ValueId GraphTracer::constant(const Tensor& tensor) {
  auto p = parameters_.find(tensor.id());
  bool parameter = p != parameters_.end();
  ir::ValueId v = ir::kNoValue;
  if (parameter) {
    HostTensor& kept = weights_[p->second];
    if (!kept.present()) kept = host_copy(tensor);
    v = g_.add_constant(kept, p->second, true);
  } else {
    v = g_.add_constant(host_copy(tensor), tensor.name());
  }
  bind(tensor, v);
  return v;
}

ir::ValueId GraphTracer::value_of(const Tensor& tensor, const std::source_location& where) {
  uint64_t base = base_of(tensor).id();
  auto written = generations_.find(base);
  uint32_t generation = written == generations_.end() ? 0 : written->second;
  auto at = values_.find(tensor.id());
  if (at != values_.end() && (at->second.generation == generation || tensor.id() == base))
    return at->second.value;
  const ViewInfo* view = tensor.impl()->view_of.get();
  // A view of something that is no value of the graph holds today's bytes like any other tensor.
  if (view == nullptr || values_.count(base) == 0) return constant(tensor);
  Tensor parent{IntrusivePtr<TensorImpl>(view_parent(*view))};
  ir::ValueId v =
      emit(view->op, attrs_of(view->op, view->attrs()), {value_of(parent, where)}, where);
  bind(tensor, v);
  return v;
}

ir::ValueId GraphTracer::result(const Tensor& tensor) {
  if (known(tensor) == ir::kNoValue)
    throw Error("[capture] forward returns a tensor that no op of it made");
  return value_of(tensor, std::source_location::current());
}

ir::NodeId GraphTracer::add(OpId op, const AnyAttrs& attrs, std::vector<ir::ValueId> inputs,
                            int outputs, const std::source_location& where) {
  std::string path = module_path();
  ir::NodeId id = 0;
  try {
    id = g_.add_node(op, attrs, std::move(inputs), outputs, path);
  } catch (const Error& e) {
    throw_error("capture",
                fmt::format("{}: a size of a dynamic dimension may be baked in", e.what()), where);
  }
  g_.node(id).module = path;
  g_.node(id).source = source_line(where);
  sizes_.at_node(g_.node_count());
  return id;
}

ir::ValueId GraphTracer::emit(OpId op, const AnyAttrs& attrs, std::vector<ir::ValueId> inputs,
                              const std::source_location& where) {
  return g_.node(add(op, attrs, std::move(inputs), 1, where)).outputs[0];
}

void GraphTracer::on_call(const TracedCall& call) {
  const OpInfo* info = op_info(call.op);
  if (info->role == OpRole::kTrain) {
    throw_error("capture",
                fmt::format("{} is a training op: call eval() on the module first", info->name),
                call.where, Code::kUnsupported);
  }
  std::vector<ir::ValueId> inputs;
  for (const Tensor* t : call.in) {
    inputs.push_back(t == nullptr || !t->defined() ? ir::kNoValue : value_of(*t, call.where));
  }
  ir::NodeId id = add(call.op, attrs_of(call.op, call.attrs), std::move(inputs),
                      static_cast<int>(call.out.size()), call.where);
  for (size_t i = 0; i < call.out.size(); ++i) {
    ir::ValueId v = g_.node(id).outputs[i];
    g_.value(v).name = call.out[i].name();
    bind(call.out[i], v);
  }
}

void GraphTracer::on_read(const Tensor& tensor, const char* what,
                          const std::source_location& where) {
  ir::ValueId v = known(tensor);
  if (v == ir::kNoValue || g_.is_constant(v)) return;  // weights are the same at every run
  throw_error(
      "capture",
      fmt::format("{} reads the value of a traced tensor: the graph would hold today's number",
                  what),
      where, Code::kUnsupported);
}

Dim GraphTracer::on_size(const Tensor& tensor, int dim, const std::source_location& where) {
  const int64_t size = tensor.raw_shape()[dim];
  const ir::ValueId v = known(tensor);
  if (v == ir::kNoValue || g_.is_constant(v)) return Dim(size);
  return sizes_.read(value_of(tensor, where), dim, size, where);
}

const DimShape& GraphTracer::on_shape(const Tensor& tensor, const std::source_location& where) {
  const ir::ValueId v = known(tensor);
  if (v == ir::kNoValue || g_.is_constant(v)) return as_dims(tensor.raw_shape());
  DimShape sizes;
  for (int d = 0; d < tensor.rank(); ++d) sizes.push_back(on_size(tensor, d, where));
  return shapes_[value_of(tensor, where)] = sizes;
}

// `value` in the shape of `like`.
ir::ValueId GraphTracer::shaped_like(ir::ValueId value, ir::ValueId like, bool broadcast,
                                     const std::source_location& where) {
  DimList dims;
  for (const SymDim& d : g_.value(like).shape) dims.values[dims.count++] = d.constant();
  AnyAttrs attrs = broadcast ? AnyAttrs::of(ShapeAttrs{dims}) : AnyAttrs::of(ReshapeAttrs{dims, 1});
  return emit(broadcast ? OpId::kExpand : OpId::kReshape, attrs, {value}, where);
}

void GraphTracer::refuse_parameter(const Tensor& base, const char* what,
                                   const std::source_location& where) const {
  auto p = parameters_.find(base.id());
  if (p == parameters_.end()) return;
  throw_error("capture",
              fmt::format("{} updates {}: call eval() on the module first", what, p->second), where,
              Code::kUnsupported);
}

void GraphTracer::on_reshape(const Tensor& tensor, const Tensor& as, const Tensor& old,
                             const char* what, const std::source_location& where) {
  Tensor base = base_of(tensor);
  refuse_parameter(base, what, where);
  ir::ValueId value = value_of(as, where);
  if (old.defined()) {
    if (auto now = values_.find(tensor.id()); now != values_.end()) values_[old.id()] = now->second;
    // what is a view of it becomes a view of old
    if (auto written = generations_.find(tensor.id()); written != generations_.end())
      generations_[old.id()] = written->second;
    alive_.push_back(old);
  }
  bind(tensor, value);
}

void GraphTracer::on_write(const Tensor& tensor, const Tensor& result, const char* what,
                           const std::source_location& where) {
  Tensor base = base_of(tensor);
  refuse_parameter(base, what, where);
  bool traced = known(tensor) != ir::kNoValue;
  if (!result.defined()) {
    if (!traced) return;
    throw_error("capture",
                fmt::format("{} writes to a traced tensor from outside of the ops", what), where,
                Code::kUnsupported);
  }
  // A fresh tensor filled with numbers becomes a constant when an op reads it.
  ir::ValueId now = known(result);
  if (!traced && (now == ir::kNoValue || g_.is_constant(now))) return;
  if (values_.count(base.id()) == 0) constant(base);  // its bytes before the write
  ir::ValueId value = value_of(result, where);
  // Whether the result is repeated may depend on a size that is 1 today. Where it never is, the
  // runs' merge finds that nothing is expanded.
  value = shaped_like(value, value_of(tensor, where), true, where);
  ir::ValueId part = value;
  for (TensorImpl* at = tensor.impl(); at != base.impl();) {
    ViewInverse inverse = invert_view(at, base.impl(), what, where);
    ir::ValueId old = value_of(Tensor(IntrusivePtr<TensorImpl>(inverse.parent)), where);
    if (inverse.replaces) {
      value = emit(inverse.op, inverse.attrs, {old, value}, where);
    } else if (inverse.op == OpId::kReshape) {
      value = shaped_like(value, old, false, where);
    } else if (inverse.op != OpId::kIdentity) {
      value = emit(inverse.op, inverse.attrs, {value}, where);
    }
    at = inverse.parent;
  }
  ++generations_[base.id()];
  bind(base, value);
  bind(tensor, part);
}

}  // namespace wick
