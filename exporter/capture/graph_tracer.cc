#include "exporter/capture/graph_tracer.h"

#include <fmt/format.h>

#include <cstring>

#include "runtime/kernels/copy.h"
#include "runtime/registry/registry.h"

namespace wick {
namespace {

ir::SourceLine source_line(const std::source_location& where) {
  std::string text = to_text(where);
  return {text.substr(0, text.rfind(':')), static_cast<int>(where.line())};
}

}  // namespace

HostTensor host_copy(const Tensor& t) {
  HostTensor copy(t.dtype(), t.raw_shape());
  if (t.raw().numel() != 0) copy_strided(t.raw(), copy.view());
  return copy;
}

void GraphTracer::bind(const Tensor& tensor, ir::ValueId value) {
  values_[tensor.id()] = value;
  alive_.push_back(tensor);
}

void GraphTracer::bind_parameter(const std::string& name, const Tensor& tensor) {
  parameters_[tensor.id()] = name;
  alive_.push_back(tensor);
}

ir::ValueId GraphTracer::value_of(const Tensor& tensor) {
  auto at = values_.find(tensor.id());
  if (at != values_.end()) return at->second;
  auto p = parameters_.find(tensor.id());
  bool parameter = p != parameters_.end();
  ir::ValueId v =
      g_.add_constant(host_copy(tensor), parameter ? p->second : tensor.name(), parameter);
  bind(tensor, v);
  return v;
}

ir::ValueId GraphTracer::result(const Tensor& tensor) {
  auto at = values_.find(tensor.id());
  if (at == values_.end()) throw Error("[capture] forward returns a tensor that no op of it made");
  return at->second;
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
    inputs.push_back(t == nullptr || !t->defined() ? ir::kNoValue : value_of(*t));
  }
  AnyAttrs attrs;
  info->attrs->init(attrs.get());
  if (call.attrs != nullptr) {
    for (const AttrField& f : info->attrs->fields) {
      size_t bytes = f.kind == AttrKind::kInts ? 8 * (f.capacity + size_t{1}) : 8;
      memcpy(static_cast<char*>(attrs.get()) + f.offset,
             static_cast<const char*>(call.attrs) + f.offset, bytes);
    }
  }
  std::string path = module_path();
  ir::NodeId id = 0;
  try {
    id = g_.add_node(call.op, attrs, std::move(inputs), static_cast<int>(call.out.size()), path);
  } catch (const Error& e) {
    throw_error("capture",
                fmt::format("{}: a size of a dynamic dimension may be baked in", e.what()),
                call.where);
  }
  g_.node(id).module = path;
  g_.node(id).source = source_line(call.where);
  for (size_t i = 0; i < call.out.size(); ++i) {
    ir::ValueId v = g_.node(id).outputs[i];
    g_.value(v).name = call.out[i].name();
    bind(call.out[i], v);
  }
}

void GraphTracer::on_read(const Tensor& tensor, const char* what,
                          const std::source_location& where) {
  auto at = values_.find(tensor.id());
  if (at == values_.end() || g_.is_constant(at->second))
    return;  // weights are the same at every run
  throw_error(
      "capture",
      fmt::format("{} reads the value of a traced tensor: the graph would hold today's number",
                  what),
      where, Code::kUnsupported);
}

// A size may be read (most reshapes do); whether it was baked in shows when the two runs are
// compared.
void GraphTracer::on_shape_read(const Tensor&, int, const std::source_location&) {}

void GraphTracer::on_write(const Tensor& tensor, const Tensor&, const char* what,
                           const std::source_location& where) {
  if (auto p = parameters_.find(tensor.id()); p != parameters_.end()) {
    throw_error("capture",
                fmt::format("{} updates {}: call eval() on the module first", what, p->second),
                where, Code::kUnsupported);
  }
  if (values_.count(tensor.id()) == 0)
    return;  // a fresh tensor is filled: it becomes a constant when an op reads it
  throw_error(
      "capture",
      fmt::format("{} writes in place to a traced tensor: use the form that returns a new one",
                  what),
      where, Code::kUnsupported);
}

}  // namespace wick
