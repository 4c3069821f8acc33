// The C ABI of wick/c/ops.h: custom ops made of C callbacks.
#include "wick/c/ops.h"

#include "runtime/exec/c_handles.h"

using namespace wick;         // NOLINT: this file only translates
using namespace wick::c_api;  // NOLINT

namespace wick::c_api {
namespace {

// plan() stores this for run().
struct Planned {
  const CallbackOp* op;
  size_t scratch_bytes;
};

const CallbackOp& callbacks_of(const CustomOp* op) { return *static_cast<const CallbackOp*>(op); }

// The struct that a callback gets, and the tensors that it points to.
class Call {
 public:
  Call(const CallbackOp& op, const void* attrs) {
    c_.size = sizeof(c_);
    c_.user = op.def.user;
    c_.attrs = attrs;
    c_.threads = 1;
    c_.in = in_;
    c_.out = out_;
  }
  // Describes the tensors; false: there are more than a custom op has.
  bool take(Span<const TensorView> in, Span<const TensorView> out, bool with_data) {
    if (in.size() > kMaxCustomInputs || out.size() > kMaxCustomOutputs) return false;
    c_.in_count = in.size();
    c_.out_count = out.size();
    for (size_t i = 0; i < in.size(); ++i) put(in[i], with_data, &in_[i]);
    for (size_t i = 0; i < out.size(); ++i) put(out[i], with_data, &out_[i]);
    c_.elements = !in.empty() && in[0].present() ? in[0].numel() : 0;
    return true;
  }
  // Calls a callback, and makes a Status of what it returns.
  Status call(int (*callback)(wick_op_call*), const char* what) {
    const int code = callback(&c_);
    if (code == WICK_OK) return {};
    if (code < 0 || code > WICK_CANCELLED) {
      return error(Code::kInvalidArgument, "its %s callback returns %d, which is no wick_code",
                   what, code);
    }
    const auto cause = static_cast<Code>(code);
    return error(cause, "%.300s", c_.why != nullptr ? c_.why : code_name(cause));
  }
  wick_op_call* operator->() { return &c_; }
  wick_tensor* out() { return out_; }
  wick_tensor* in() { return in_; }

 private:
  static void put(const TensorView& from, bool with_data, wick_tensor* to) {
    to_tensor(from, to);
    if (!with_data) to->data = nullptr;
  }

  wick_op_call c_{};
  wick_tensor in_[kMaxCustomInputs]{}, out_[kMaxCustomOutputs]{};
};

Status call_shape(OpShapes& c) {
  const CallbackOp& op = callbacks_of(c.custom);
  Call call(op, c.attrs);
  call->in_count = c.in.size();
  call->out_count = c.out.size();
  for (size_t i = 0; i < c.in.size(); ++i) {
    Shape dims;
    for (const OpDim& d : c.in[i].shape) {
      if (!d.known())
        return Status(Code::kUnsupported, "an op in C computes with numbers, not with symbols");
      dims.push_back(d.value());
    }
    to_tensor(TensorView(nullptr, c.in[i].dtype, dims), &call.in()[i]);
    if (i == 0 && c.in[0].present()) call->elements = numel(dims);
  }
  WICK_TRY(call.call(op.def.shape, "shape"));
  for (size_t i = 0; i < c.out.size(); ++i) {
    const wick_tensor& made = call.out()[i];
    if (!known_dtype(made.dtype) || made.rank < 0 || made.rank > kMaxRank) {
      return error(Code::kInvalidArgument,
                   "its shape callback gives output %zu rank %d and dtype %d: out of range", i,
                   made.rank, made.dtype);
    }
    c.out[i].dtype = static_cast<DType>(made.dtype);
    c.out[i].shape = {};
    for (int d = 0; d < made.rank; ++d) c.out[i].shape.push_back(made.dims[d]);
  }
  return {};
}

bool call_takes(const KernelQuery& q) {
  const CallbackOp& op = callbacks_of(q.custom);
  if (op.def.takes == nullptr) return true;
  Call call(op, q.attrs);
  if (!call.take(q.in, q.out, false)) return false;
  const Status taken = call.call(op.def.takes, "takes");
  if (!taken.ok() && q.why != nullptr) *q.why = taken;
  return taken.ok();
}

Status call_plan(const KernelQuery& q, KernelPlan* to) {
  const CallbackOp& op = callbacks_of(q.custom);
  Planned planned = {&op, 0};
  if (op.def.plan != nullptr) {
    Call call(op, q.attrs);
    if (!call.take(q.in, q.out, false))
      return Status(Code::kInvalidArgument, "more inputs or outputs than a custom op has");
    call->threads = q.threads;
    WICK_TRY(call.call(op.def.plan, "plan"));
    planned.scratch_bytes = to->scratch_bytes = call->scratch_bytes;
  }
  to->keep(planned);
  return {};
}

Status call_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  const Planned& planned = ctx.plan->kept<Planned>();
  Call call(*planned.op, attrs);
  if (!call.take(in, Span<const TensorView>(out.data(), out.size()), true))
    return Status(Code::kInvalidArgument, "more inputs or outputs than a custom op has");
  call->scratch = planned.scratch_bytes == 0 ? nullptr : ctx.scratch;
  call->scratch_bytes = planned.scratch_bytes;
  call->pool = ctx.pool;
  call->threads = ctx.pool == nullptr ? 1 : ctx.pool->threads();
  return call.call(planned.op->def.run, "run");
}

// Numbers that a narrower field holds; larger ones would wrap to some that are right.
Status check_counts(const wick_op_def& d) {
  if (d.max_inputs > kMaxCustomInputs || d.min_inputs > d.max_inputs ||
      d.outputs > kMaxCustomOutputs) {
    return error(Code::kInvalidArgument,
                 "takes %u to %u inputs and has %u outputs; at most %zu and %zu are possible",
                 d.min_inputs, d.max_inputs, d.outputs, kMaxCustomInputs, kMaxCustomOutputs);
  }
  if (d.attrs_size > kMaxAttrBytes || d.field_count > 64) {
    return error(Code::kInvalidArgument,
                 "its attributes take %zu bytes and %zu fields; at most %zu and 64 are possible",
                 d.attrs_size, d.field_count, kMaxAttrBytes);
  }
  WICK_TRY(check_array(d.fields, d.field_count, "fields"));
  if (d.attrs_size != 0) WICK_TRY(check_pointer(reinterpret_cast<const void*>(d.init), "init"));
  if (d.attrs_size == 0 && d.field_count != 0)
    return Status(Code::kInvalidArgument, "it has attribute fields, and attrs_size is 0");
  for (size_t i = 0; i < d.field_count; ++i) {
    if (d.fields[i].kind < WICK_ATTR_INT || d.fields[i].kind > WICK_ATTR_TEXT)
      return error(Code::kInvalidArgument, "attribute field %zu is of kind %d", i,
                   d.fields[i].kind);
  }
  return check_pointer(reinterpret_cast<const void*>(d.run), "run");
}

}  // namespace

Status CallbackOp::make(const wick_op_def& from, AttrField* room) {
  def = from;
  if (def.min_inputs == 0 && def.max_inputs == 0) def.min_inputs = def.max_inputs = 1;
  if (def.outputs == 0) def.outputs = 1;
  if (def.version == 0) def.version = 1;
  full = custom_op_name(def.domain, def.name);
  WICK_TRY(annotate(check_counts(def), "%s: ", full.text));
  domain = def.domain;
  name = def.name;
  version = def.version;
  min_inputs = static_cast<uint8_t>(def.min_inputs);
  max_inputs = static_cast<uint8_t>(def.max_inputs);
  outputs = static_cast<uint8_t>(def.outputs);
  for (size_t i = 0; i < def.field_count; ++i) {
    const wick_attr_field& f = def.fields[i];
    room[i] = {f.name, f.id, static_cast<AttrKind>(f.kind), 0, f.offset, f.capacity};
  }
  if (def.attrs_size != 0) {
    type = {full.text, static_cast<uint16_t>(def.attrs_size), {room, def.field_count}, def.init};
    attrs = &type;
  }
  if (def.shape != nullptr) shape = call_shape;
  const uint32_t flags = def.in_place != 0 ? uint32_t{kInPlace} : uint32_t{kContiguous};
  row = {full.text, flags, call_takes, call_plan, nullptr, call_run};
  kernels.data = &row;
  kernels.size = 1;
  return {};
}

}  // namespace wick::c_api

namespace {

Status make_ops(const wick_op_def* const* defs, size_t count, wick_ops* ops) {
  Array<wick_op_def> full(default_allocator());
  size_t fields = 0;
  for (size_t i = 0; i < count; ++i) {
    if (defs[i] == nullptr) return error(Code::kInvalidArgument, "defs[%zu] is null", i);
    wick_op_def def;
    WICK_TRY(annotate(read_struct(defs[i], &def, "def"), "op %zu: ", i));
    if (def.field_count <= 64) fields += def.field_count;  // else make() refuses it
    WICK_TRY(full.push_back(def));
  }
  // Both are full-sized now, because ops have the addresses of their parts.
  WICK_TRY(ops->made.resize(count));
  WICK_TRY(ops->fields.resize(fields));
  AttrField* room = ops->fields.data();
  for (size_t i = 0; i < count; ++i) {
    WICK_TRY(annotate(ops->made[i].make(full[i], room), "op %zu: ", i));
    room += full[i].field_count;
    WICK_TRY(ops->add(&ops->made[i]));
  }
  return check_custom_ops(ops->list);
}

}  // namespace

int wick_ops_create(const wick_op_def* const* defs, size_t count, wick_ops** out) {
  auto create = [&]() -> Status {
    WICK_TRY(check_pointer(out, "ops"));
    WICK_TRY(check_pointer(defs, "defs"));
    if (count == 0 || count > 4096)
      return error(Code::kInvalidArgument, "%zu ops given: 1 to 4096 are possible", count);
    void* memory = default_allocator().allocate(sizeof(wick_ops), alignof(wick_ops));
    if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate ops");
    auto* ops = new (memory) wick_ops;
    if (Status made = make_ops(defs, count, ops); !made.ok()) {
      wick_ops_free(ops);
      return made;
    }
    *out = ops;
    return {};
  };
  return fail(create(), {});
}
int wick_op_parallel(const wick_op_call* call, int64_t tasks,
                     void (*task)(void* arg, int64_t i, int worker), void* arg) {
  auto run = [&]() -> Status {
    WICK_TRY(check_pointer(call, "call"));
    WICK_TRY(check_pointer(reinterpret_cast<const void*>(task), "task"));
    parallel_for(static_cast<ThreadPool*>(call->pool), tasks,
                 [&](int64_t i, int worker) { task(arg, i, worker); });
    return {};
  };
  return fail(run(), {});
}
