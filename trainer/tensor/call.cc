#include "trainer/tensor/call.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/core/int_at.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/prepared.h"
#include "runtime/ops/rule.h"
#include "runtime/registry/registry.h"
#include "trainer/autograd/forward.h"
#include "trainer/autograd/node.h"
#include "trainer/kernels/kernel_set.h"
#include "trainer/kernels/wide/rows.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/view_info.h"
#include "trainer/tensor/view_rule.h"
#include "trainer/tensor/watcher.h"

namespace wick {
namespace {

constexpr size_t kInline = 6;  // tensors of a call kept on the stack

// One buffer per thread, grown to the largest request: kernels of one thread never run at the same
// time.
void* scratch(size_t bytes) {
  thread_local ScratchBuffer buffer;
  return buffer.at_least(bytes);
}

const KernelRow* choose(const KernelQuery& query) {
  return find_kernel(trainer_kernels(modes().reference), query);
}

// For built-in ops this costs one comparison.
const CustomOp* find_custom(OpId op) { return is_custom(op) ? find_custom_op(op) : nullptr; }

// Returns the dtypes for which there is a kernel if every input has that dtype.
std::string dtypes_with_kernel(const KernelQuery& q) {
  SmallVector<TensorView, kInline> in(q.in.size()), out(q.out.size());
  std::string names;
  for (int t = 1; t < kDTypeCount; ++t) {
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] = q.in[i];
      if (in[i].present()) in[i].dtype = static_cast<DType>(t);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = q.out[i];
      if (out[i].dtype != DType::kBool) out[i].dtype = static_cast<DType>(t);
    }
    KernelQuery probe{q.op, q.attrs, in, out, 1, q.custom, q.args};
    if (choose(probe) == nullptr) continue;
    if (!names.empty()) names += ", ";
    names += dtype_name(static_cast<DType>(t));
  }
  return names;
}

[[noreturn]] void no_kernel(const KernelQuery& q, const Where& where) {
  std::string types;
  for (const TensorView& v : q.in) {
    if (!types.empty()) types += ", ";
    types += dtype_name(v.dtype);
  }
  std::string there = dtypes_with_kernel(q);
  throw_error(display_name(q.op),
              "no kernel for (" + types + ") on cpu: " +
                  (there.empty() ? "there is none for any one dtype with these attributes"
                                 : "there are " + there + "; cast with .to(...)"),
              where, Code::kUnsupported);
}

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

void run_row(const KernelRow& row, const KernelQuery& q, Span<TensorView> out, const Where& where) {
  PreparedKernel kernel;
  if (Status s = kernel.prepare(row, q); !s.ok()) fail_call(q.op, s, where);
  const KernelLoan loan{thread_pool(), scratch(kernel.scratch_bytes())};
  TraceHook* hook = modes().trace_hook;
  uint64_t begin = hook != nullptr ? now_ns() : 0;
  FloatModeScope mode;  // the same as in the pool's workers
  if (Status s = kernel.run(loan, q.op, q.in, out, q.attrs); !s.ok()) fail_call(q.op, s, where);
  if (Recorder* r = modes().recorder) [[unlikely]]
    r->on_kernel(q, out, where);
  if (hook == nullptr) return;
  std::string path = module_path();
  hook->on_op({op_info(q.op)->name, path.c_str(), row.name, "cpu", modes().trace_index++, begin,
               now_ns(), q.in, out});
}

// Names an input that was never made, where the op needs it: the rule saw a shape of no dims.
void refuse_undefined(OpId op, Span<const Tensor* const> in, const Where& where) {
  const OpInfo* info = find_op(op);
  if (info == nullptr) return;  // a custom op's rule says it
  const size_t needed = info->max_inputs == 255 ? in.size() : info->min_inputs;
  for (size_t i = 0; i < std::min(needed, in.size()); ++i) {
    if (in[i] != nullptr && in[i]->defined()) continue;
    fail_call(
        op,
        error(Code::kInvalidArgument, "input %zu is required, and undefined: it was never made", i),
        where);
  }
}

// Returns whether input i is a list of sizes in other integers than int64, or of scales in floats:
// the trainer's functions never pass these, but imported models do.
bool holds_list(OpId op, size_t i, const TensorView& v) {
  if (v.rank() > 1 || v.numel() > 64 || !v.contiguous()) return false;
  return is_int(v.dtype) || holds_reals(op, i, v.dtype, v.rank());
}
std::vector<int64_t> elements_of(const TensorView& v) {
  std::vector<int64_t> list;
  list.reserve(static_cast<size_t>(v.numel()) + 1);  // so that even an empty list has an address
  for (int64_t k = 0; k < v.numel(); ++k)
    list.push_back(is_int(v.dtype) ? int_at(v, k) : real_bits_at(v.dtype, v.data, k));
  return list;
}

// Runs a call whose tensors are on a Vulkan device. For a trace hook it waits, to measure the
// device's time.
void run_there(OpId op, const void* attrs, Span<const TensorView> in, Span<TensorView> out,
               const Where& where) {
  TraceHook* hook = modes().trace_hook;
  if (hook != nullptr) wait_for_vulkan("trace", where);
  const uint64_t begin = hook != nullptr ? now_ns() : 0;
  run_on_vulkan(op, attrs, in, out, where);
  if (hook == nullptr) return;
  wait_for_vulkan("trace", where);
  const std::string path = module_path();
  hook->on_op({op_info(op)->name, path.c_str(), "shader", "vulkan", modes().trace_index++, begin,
               now_ns(), in, out});
}

}  // namespace

// Throws "[linear] in module 'fc1': ..." if a module is running.
void fail_call(OpId op, Status status, const Where& where) {
  const CallSite* site = modes().site;  // the public function that this op is part of
  const std::string name = site != nullptr ? site->name : display_name(op);
  const std::string path = module_path();
  if (path.empty()) throw_status(name, status, where);
  throw_error(name, "in module '" + path + "': " + status.message(), where, status.code());
}

Span<const KernelSet* const> trainer_kernels(bool reference) {
  static constexpr const KernelSet* kFast[] = {&kCpuKernels,       &kTrainKernels,
                                               &kHalfKernels,      &kWideKernels,
                                               &kReferenceKernels, &kTrainReferenceKernels};
  static constexpr const KernelSet* kPlain[] = {&kReferenceKernels, &kTrainReferenceKernels};
  return reference ? Span<const KernelSet* const>(kPlain) : Span<const KernelSet* const>(kFast);
}

std::string display_name(OpId op) {
  // PyTorch's names, if they are not the op's own name in another spelling.
  static constexpr std::pair<OpId, const char*> kNames[] = {
      {OpId::kMatMul, "matmul"},
      {OpId::kConv, "conv2d"},
      {OpId::kMaxPool, "max_pool2d"},
      {OpId::kAveragePool, "avg_pool2d"},
      {OpId::kBatchNormTrain, "batch_norm"},
      {OpId::kReduceSum, "sum"},
      {OpId::kReduceMean, "mean"},
      {OpId::kReduceMax, "amax"},
      {OpId::kReduceMin, "amin"},
      {OpId::kReduceProd, "prod"},
      {OpId::kArgMax, "argmax"},
      {OpId::kArgMin, "argmin"},
      {OpId::kTranspose, "permute"},
      {OpId::kConcat, "cat"},
      {OpId::kGather, "index_select"},
      {OpId::kGatherElements, "gather"},
      {OpId::kHardSwish, "hardswish"},
      {OpId::kPRelu, "prelu"},
      {OpId::kHardSigmoid, "hardsigmoid"},
      {OpId::kClip, "clamp"},
      {OpId::kSlogDet, "slogdet"},
  };
  for (const auto& [of, name] : kNames) {
    if (of == op) return name;
  }
  if (is_custom(op)) return op_info(op)->name;
  const OpInfo* info = find_op(op);
  if (info == nullptr) return "op " + std::to_string(static_cast<int>(op));
  std::string name;
  for (const char* p = info->name; *p != 0; ++p) {
    if (isupper(static_cast<unsigned char>(*p)) && !name.empty()) name += '_';
    name += static_cast<char>(tolower(static_cast<unsigned char>(*p)));
  }
  return name;
}

bool run_kernel(OpId op, const void* attrs, Span<const TensorView> in, Span<TensorView> out,
                const Where& where, uint32_t in_place, const ShapeArgs* args) {
  if (any_on_device(in) || any_on_device(out)) [[unlikely]] {
    if (in_place != 0) return false;
    note_break("vulkan", "runs on a Vulkan device, which repeats nothing",
               "keep the step on the CPU", where);
    run_there(op, attrs, in, out, where);
    return true;
  }
  KernelQuery q{op, attrs, in, out, num_threads(), find_custom(op), args};
  const KernelRow* row = choose(q);
  if (row == nullptr) no_kernel(q, where);
  if ((row->flags & in_place) != in_place) return false;
  if ((row->flags & kStridedInputs) == 0) {
    bool dense = true;
    for (const TensorView& v : in) dense = dense && (!v.present() || v.contiguous());
    if (!dense) {
      SmallVector<TensorView, kInline> views(in.size());
      SmallVector<Tensor, kInline> copies(in.size());
      for (size_t i = 0; i < in.size(); ++i) {
        views[i] = in[i];
        if (!in[i].present() || in[i].contiguous()) continue;
        copies[i] = new_tensor(in[i].shape, in[i].dtype);
        views[i] = copies[i].raw();
        copy_strided(in[i], views[i]);
        if (Recorder* r = modes().recorder) [[unlikely]]
          r->on_copy(in[i], views[i], where);
        ++modes().copies;
      }
      q.in = views;
      run_row(*row, q, out, where);
      return true;
    }
  }
  run_row(*row, q, out, where);
  return true;
}

void accumulate(const Tensor& a, const Tensor& b) {
  if (Recorder* r = modes().recorder) [[unlikely]] {
    r->on_tensor(a);
    r->on_tensor(b);
  }
  TensorView in[2] = {a.layout(), b.layout()}, out[1] = {a.layout()};
  bool overlap = a.impl()->storage == b.impl()->storage;  // possibly
  if (!overlap && run_kernel(OpId::kAdd, nullptr, in, out, Where::current(), kInPlace)) return;
  Tensor sum = new_tensor_beside(a.layout(), a.raw_shape(), a.dtype(), Where::current());
  out[0] = sum.layout();
  run_kernel(OpId::kAdd, nullptr, in, out, Where::current());
  copy_bytes(sum, a);
}

void call(OpId op, const void* attrs, Span<const Tensor* const> in, Span<Tensor> out,
          const Where& line) {
  const CallSite* site = modes().site;  // the public function that this op is part of
  const Where& where = site != nullptr ? site->where : line;
  SmallVector<Tensor, kInline> casts;
  SmallVector<const Tensor*, kInline> cast_in;
  if (modes().autocast != nullptr) [[unlikely]] {
    casts.resize(in.size());
    cast_in.resize(in.size());
    if (autocast_inputs(op, in, &casts, &cast_in, line)) in = cast_in;
  }
  bool there = false;
  for (const Tensor* t : in) there = there || (t != nullptr && t->is_vulkan());
  std::optional<PlacedInputs> placed;
  if (there) [[unlikely]] {
    place_inputs(op, in, where, &placed.emplace());
    in = placed->in;
  }
  SmallVector<ValueInfo<int64_t>, kInline> in_info(in.size());
  SmallVector<ValueInfo<int64_t>, 3> out_info(out.size());
  SmallVector<TensorView, kInline> in_views(in.size());
  bool needs_grad = false, recording = grad_enabled();
  std::vector<std::vector<int64_t>> lists;  // lists in other types than the rules read
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == nullptr || !in[i]->defined()) continue;
    const TensorView& v = in_views[i] = in[i]->impl()->view;
    if (Recorder* r = modes().recorder) [[unlikely]] {
      r->on_tensor(*in[i]);
      if (i > 0 && (is_view(op) || has_shape_args(op)) && is_int(v.dtype))
        r->on_sizes(v, display_name(op), where);
    }
    in_info[i].dtype = v.dtype;
    in_info[i].shape = v.shape;
    if (there && on_device(v.data)) {
      // the host does not know its elements
    } else if (v.dtype == DType::kI64 && v.rank() <= 1 && v.contiguous() && v.numel() <= 64) {
      in_info[i].elements = v.as<int64_t>();
      in_info[i].element_count = v.numel();
    } else if (holds_list(op, i, v)) {
      lists.push_back(elements_of(v));
      in_info[i].elements = lists.back().data();
      in_info[i].element_count = v.numel();
    }
    needs_grad = needs_grad || (recording && requires_grad_of(*in[i]));
  }
  ShapeArgs args;
  RuleCtx<int64_t> ctx{op, attrs, in_info, out_info, find_custom(op), &args};
  if (Status s = refuse_unknown(infer_shapes(ctx)); !s.ok()) {
    refuse_undefined(op, in, where);
    fail_call(op, s, where);
  }

  TensorView as_view;
  if (view_rule(op, attrs, in_views, out_info[0].shape, &as_view)) {
    out[0] = alias(*in[0], as_view);
    if (modes().track_views) track_view(out[0], *in[0], op, attrs, where);
  } else {
    SmallVector<TensorView, 3> out_views(out.size());
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = there ? new_tensor_beside(placed->there, out_info[i].shape, out_info[i].dtype, where)
                     : new_tensor(out_info[i].shape, out_info[i].dtype, where);
      out_views[i] = out[i].layout();
    }
    if (is_view(op)) ++modes().copies;  // it could have shared the operand's bytes
    run_kernel(op, attrs, in_views, out_views, where, 0, has_shape_args(op) ? &args : nullptr);
    for (size_t i = 0; i < out.size(); ++i) {  // sizes that depended on data
      TensorView& v = out[i].impl()->view;
      if (!(v.shape == out_views[i].shape)) v = TensorView(v.data, v.dtype, out_views[i].shape);
    }
  }
  if (needs_grad) record(op, attrs, in, out, where);
  if (modes().forward != 0) [[unlikely]] {
    forward_call(op, attrs, in, out, where);
  }
  if (modes().watcher != nullptr) [[unlikely]] {
    watch_call({op, attrs, in, out, where});
  }
  if (Tracer* tracer = active_tracer()) tracer->on_call({op, attrs, in, out, where});
}

}  // namespace wick
