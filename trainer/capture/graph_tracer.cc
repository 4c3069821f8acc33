#include "trainer/capture/graph_tracer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/kernels/copy.h"
#include "runtime/registry/registry.h"
#include "trainer/tensor/control_call.h"
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
    size_t bytes = is_list(f.kind) ? 8 * (f.capacity + size_t{1}) : 8;
    memcpy(static_cast<char*>(copy.get()) + f.offset, static_cast<const char*>(attrs) + f.offset,
           bytes);
  }
  return copy;
}

// Returns why an op that no program runs cannot be captured, and what to write.
std::string refusal_of(OpId op) {
  const OpInfo* info = op_info(op);
  if (info->kind == OpKind::kLinalg) {
    return fmt::format(
        "{} is computed in the trainer only, no program runs it: on weights alone its result is "
        "kept as a constant; of an input write it with other ops (the inverse of a 1x1 or 2x2 "
        "matrix is a quotient)",
        info->name);
  }
  const char* more = op == OpId::kBatchNormTrain
                         ? ", or track running statistics: without them it takes the batch's in "
                           "eval mode, too"
                         : "";
  return fmt::format("{} is a training op: call eval() on the module first{}", info->name, more);
}

// Returns the name of the function whose calls region r has: "else_fn of cond".
std::string control_part(const std::string& function, size_t r) {
  const char* part = function == "cond"   ? (r == 0 ? "then_fn" : "else_fn")
                     : function == "scan" ? "fn"
                                          : "body_fn";
  return std::string(part) + " of " + function;
}

}  // namespace

HostTensor host_copy(const Tensor& t) {
  HostTensor copy(t.dtype(), t.raw_shape());
  if (t.raw().numel() != 0) copy_strided(t.raw(), copy.view());
  return copy;
}

GraphTracer::GraphTracer(ir::Graph& region, GraphTracer& outside, std::string part)
    : g_(region),
      weights_(outside.weights_),
      outside_(&outside),
      part_(std::move(part)),
      captures_(std::in_place, outside.g_, region) {
  const TracerScope untraced(nullptr);
  since_ = empty({0}).id();
  number_ = ++root().regions_;
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

ir::ValueId GraphTracer::constant(const Tensor& tensor, const std::source_location& where) {
  root().refuse_inner(tensor, where);
  auto p = root().parameters_.find(tensor.id());
  bool parameter = p != root().parameters_.end();
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
  if (values_.count(base) == 0 && outside_has(tensor))
    return captures_->take(outside_->value_of(tensor, where));
  const ViewInfo* view = tensor.impl()->view_of.get();
  // A view of a tensor that is not a value of the graph is a constant, like any other such tensor.
  if (view == nullptr || values_.count(base) == 0) return constant(tensor, where);
  Tensor parent{IntrusivePtr<TensorImpl>(view_parent(*view))};
  ir::ValueId v =
      emit(view->op, attrs_of(view->op, view->attrs()), {value_of(parent, where)}, where);
  bind(tensor, v);
  return v;
}

ir::ValueId GraphTracer::result(const Tensor& tensor) {
  if (known(tensor) == ir::kNoValue) {
    refuse_inner(tensor, std::source_location::current());
    throw Error("[capture] forward returns a tensor that no op of it made");
  }
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
  root().sizes_.at_node(root().g_.node_count());
  return id;
}

ir::ValueId GraphTracer::emit(OpId op, const AnyAttrs& attrs, std::vector<ir::ValueId> inputs,
                              const std::source_location& where) {
  return g_.node(add(op, attrs, std::move(inputs), 1, where)).outputs[0];
}

void GraphTracer::on_call(const TracedCall& call) {
  const OpInfo* info = op_info(call.op);
  if (info->role == OpRole::kTrain) {
    const bool fixed = std::all_of(call.in.begin(), call.in.end(), [&](const Tensor* t) {
      return t == nullptr || !t->defined() || of_weights(*t);
    });
    if (fixed) return;  // what it made is a constant, as any tensor from outside of the graph
    throw_error("capture", refusal_of(call.op), call.where, Code::kUnsupported);
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
  if (!traced(tensor)) return;  // weights are the same in every run
  const std::string condition = condition_text(tensor);
  const std::string text = fmt::format(
      "{} reads the value of a traced tensor: the graph would hold today's number. A branch on it "
      "is cond({}, then_fn, else_fn, {{...}}), a loop for as long as it holds while_loop(cond_fn, "
      "body_fn, {{...}}), a loop over time scan(fn, init, xs, dim): wick/trainer.h",
      what, condition);
  if (where.line() != 0) throw_error("capture", text, where, Code::kUnsupported);
  // if (t), double(t): these have no line, so use that of the op that made t
  const ir::ValueId v = known(tensor);
  const ir::NodeId made = v == ir::kNoValue ? -1 : g_.value(v).producer;
  throw Error("[capture] " + text + (made < 0 ? "" : " (" + g_.node(made).source.text() + ")"),
              Code::kUnsupported);
}

void GraphTracer::on_gradient(const std::vector<Tensor>& tensors, const char* what,
                              const std::source_location& where) {
  for (const Tensor& t : tensors) {
    if (!t.defined() || !traced(t)) continue;
    throw_error("capture",
                fmt::format("{} of a traced tensor: what autograd computes within forward is not "
                            "captured; write the derivative with ops",
                            what),
                where, Code::kUnsupported);
  }
}

Dim GraphTracer::on_size(const Tensor& tensor, int dim, const std::source_location& where) {
  const int64_t size = tensor.raw_shape()[dim];
  if (!traced(tensor)) return Dim(size);
  if (outside_ == nullptr) return sizes_.read(value_of(tensor, where), dim, size, where);
  if (known(tensor) == ir::kNoValue) return outside_->on_size(tensor, dim, where);
  // a size of a value of this region: it gets its own number
  std::vector<RegionValue>& all = root().region_values_;
  const RegionValue read{number_, value_of(tensor, where)};
  const auto at = std::find_if(all.begin(), all.end(), [&](const RegionValue& v) {
    return v.region == read.region && v.value == read.value;
  });
  const auto index = static_cast<int32_t>(at - all.begin());
  if (at == all.end()) all.push_back(read);
  return root().sizes_.read(region_entry(index), dim, size, where);
}

const DimShape& GraphTracer::on_shape(const Tensor& tensor, const std::source_location& where) {
  if (!traced(tensor)) return as_dims(tensor.raw_shape());
  DimShape sizes;
  for (int d = 0; d < tensor.rank(); ++d) sizes.push_back(on_size(tensor, d, where));
  return shapes_[value_of(tensor, where)] = sizes;
}

// Returns `value` with the shape of `like`.
ir::ValueId GraphTracer::shaped_like(ir::ValueId value, ir::ValueId like, bool broadcast,
                                     const std::source_location& where) {
  DimList dims;
  for (const SymDim& d : g_.value(like).shape) dims.values[dims.count++] = d.constant();
  AnyAttrs attrs = broadcast ? AnyAttrs::of(ShapeAttrs{dims}) : AnyAttrs::of(ReshapeAttrs{dims, 1});
  return emit(broadcast ? OpId::kExpand : OpId::kReshape, attrs, {value}, where);
}

void GraphTracer::refuse_parameter(const Tensor& base, const char* what,
                                   const std::source_location& where) const {
  if (outside_ != nullptr) return outside_->refuse_parameter(base, what, where);
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
  refuse_outer_write(base, what, where);
  ir::ValueId value = value_of(as, where);
  if (old.defined()) {
    if (auto now = values_.find(tensor.id()); now != values_.end()) values_[old.id()] = now->second;
    // views of `tensor` become views of `old`
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
  refuse_outer_write(base, what, where);
  bool traced = known(tensor) != ir::kNoValue;
  if (!result.defined()) {
    if (!traced) return;
    throw_error("capture",
                fmt::format("{} writes to a traced tensor from outside of the ops", what), where,
                Code::kUnsupported);
  }
  // A new tensor filled with numbers becomes a constant when an op reads it.
  ir::ValueId now = known(result);
  if (!traced && (now == ir::kNoValue || g_.is_constant(now))) return;
  if (values_.count(base.id()) == 0) constant(base, where);  // its bytes before the write
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

bool GraphTracer::outside_has(const Tensor& tensor) const {
  return outside_ != nullptr &&
         (outside_->known(tensor) != ir::kNoValue || outside_->outside_has(tensor));
}

bool GraphTracer::traced(const Tensor& tensor) const {
  const ir::ValueId v = known(tensor);
  if (v == ir::kNoValue) return outside_ != nullptr && outside_->traced(tensor);
  return !g_.is_constant(v);
}

bool GraphTracer::of_weights(const Tensor& tensor) const {
  const ir::ValueId v = known(tensor);
  if (v == ir::kNoValue) return outside_ == nullptr || !outside_->traced(tensor);
  std::vector<ir::ValueId> open = {v};
  std::set<ir::ValueId> seen;
  while (!open.empty()) {
    const ir::ValueId at = open.back();
    open.pop_back();
    if (at == ir::kNoValue || g_.is_constant(at) || !seen.insert(at).second) continue;
    const ir::NodeId made = g_.value(at).producer;
    if (made < 0 || !g_.node(made).regions.empty()) return false;  // an input, or control flow
    const auto& inputs = g_.node(made).inputs;
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  return true;
}

// Returns a condition as text, with the user's names if there are any: "norm > 1".
std::string GraphTracer::condition_text(const Tensor& tensor) const {
  const ir::ValueId v = known(tensor);
  if (v == ir::kNoValue && outside_ != nullptr) return outside_->condition_text(tensor);
  const bool boolean = tensor.dtype() == DType::kBool;
  if (!tensor.name().empty()) return tensor.name() + (boolean ? "" : " > 0");
  auto name = [&](ir::ValueId of) {
    const ir::Value& value = g_.value(of);
    if (g_.is_constant(of) && value.name.empty() && value.constant.numel() == 1)
      return fmt::format("{}", element_as_double(value.constant, 0));
    if (!value.name.empty()) return value.name;
    for (const Tensor& t : alive_) {  // named() after it was made
      if (!t.name().empty() && known(t) == of) return t.name();
    }
    return std::string("x");
  };
  if (v == ir::kNoValue) return "x > 0";
  if (!boolean) return name(v) + " > 0";
  if (g_.value(v).producer < 0) return name(v);
  const ir::Node& n = g_.node(g_.value(v).producer);
  for (const auto& [op, sign] :
       {std::pair(OpId::kLess, "<"), std::pair(OpId::kGreater, ">"),
        std::pair(OpId::kLessOrEqual, "<="), std::pair(OpId::kGreaterOrEqual, ">=")}) {
    if (n.op == op) return fmt::format("{} {} {}", name(n.inputs[0]), sign, name(n.inputs[1]));
  }
  return g_.value(v).name.empty() ? "x > 0" : g_.value(v).name;
}

void GraphTracer::refuse_inner(const Tensor& tensor, const std::source_location& where) {
  for (const uint64_t id : {tensor.id(), base_of(tensor).id()}) {
    const auto at = inner_.find(id);
    if (at == inner_.end()) continue;
    throw_error("capture",
                fmt::format("a tensor that {} made is used outside of it: return it from there",
                            at->second),
                where, Code::kUnsupported);
  }
}

void GraphTracer::refuse_outer_write(const Tensor& base, const char* what,
                                     const std::source_location& where) {
  if (outside_ == nullptr || base.id() > since_) return;
  throw_error(
      "capture",
      fmt::format("{} writes in {} to a tensor of outside: return the new value", what, part_),
      where, Code::kUnsupported);
}

bool GraphTracer::on_control(const ControlCall& call, std::vector<Tensor>* results) {
  std::vector<ir::ValueId> in;
  for (const Tensor& t : call.in) in.push_back(value_of(t, call.where));
  std::vector<ir::Graph> regions;
  std::vector<std::vector<ir::ValueId>> captured;
  for (size_t r = 0; r < call.regions.size(); ++r) {
    const ControlRegion& from = call.regions[r];
    ir::Graph region = g_.region(region_name(call.op, r));
    GraphTracer inner(region, *this,
                      fmt::format("{} ({})", control_part(call.name, r), to_text(call.where)));
    for (size_t i = 0; i < from.own.size(); ++i) {
      inner.bind(from.own[i], region.add_input(region_input_name(i), from.own[i].dtype(),
                                               to_symbolic(from.own[i].raw_shape())));
    }
    std::vector<Tensor> made;
    {
      const TracerScope scope(&inner);
      made = from.run();
    }
    for (size_t k = 0; k < made.size(); ++k)
      region.add_output("out" + std::to_string(k), inner.value_of(made[k], call.where));
    for (const Tensor& t : from.own) root().inner_[t.id()] = inner.part_;
    for (const auto& [id, bound] : inner.values_) {
      if (id > inner.since_ && !region.is_constant(bound.value)) root().inner_[id] = inner.part_;
    }
    region.metadata[kRegionNumber] = std::to_string(inner.number_);
    captured.push_back(inner.captures_->captured());
    regions.push_back(std::move(region));
  }
  {
    const TracerScope untraced(nullptr);
    *results = call.results();
  }
  const std::string path = module_path();
  ir::NodeId id = 0;
  try {
    id = add_control_node(g_, call.op, attrs_of(call.op, call.attrs), in, std::move(regions),
                          captured, path);
  } catch (const Error& e) {
    throw_error("capture", e.what(), call.where);
  }
  g_.node(id).module = path;
  g_.node(id).source = source_line(call.where);
  for (size_t k = 0; k < results->size(); ++k) {
    const ir::ValueId v = g_.node(id).outputs[k];
    // the sizes of this run, if those of the branches differ
    g_.value(v).declared = true;
    g_.value(v).ranked = true;
    g_.value(v).shape = to_symbolic((*results)[k].raw_shape());
    bind((*results)[k], v);
  }
  return true;
}

}  // namespace wick
