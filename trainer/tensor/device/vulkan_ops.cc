// Calls on Vulkan tensors: moves their inputs, and runs them on the device.
#include "runtime/kernels/copy.h"
#include "trainer/autograd/function.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/recorder.h"

namespace wick {
namespace {

VulkanOperand operand_of(const TensorView& v) {
  VulkanOperand o;
  o.view = v;
  if (on_device(v.data)) {
    const VulkanSpot spot = spot_of(v.data);
    o.memory = spot.memory;
    o.offset = spot.offset;
    o.view.data = nullptr;
  }
  return o;
}

std::string text_of(const TensorView& v) {
  return dtype_name(v.dtype) + std::string(to_text(v.shape).text);
}

// Returns "vulkan:0 float32[2,3]".
std::string placed_text(const Tensor& t) {
  return device_of(t.layout()).to_string() + " " + text_of(t.layout());
}

VulkanPlace* place_of(Span<const TensorView> in, Span<const TensorView> out) {
  for (const Span<const TensorView> views : {out, in}) {
    for (const TensorView& v : views) {
      if (on_device(v.data)) return spot_of(v.data).place;
    }
  }
  return nullptr;
}

// Gradients are moved back to the tensor's device.
struct ToDevice : Function<ToDevice> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x, const Device& device,
                        bool non_blocking, const Where& where) {
    ctx.saved_data["from"] = device_of(x.layout());
    return transfer("to", x, device, non_blocking, where);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    return {g[0].to(std::any_cast<Device>(ctx.saved_data["from"])), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

void place_inputs(OpId op, Span<const Tensor* const> in, const Where& where, PlacedInputs* placed) {
  const Tensor* first = nullptr;
  for (const Tensor* t : in) {
    if (first == nullptr && t != nullptr && t->is_vulkan()) first = t;
  }
  placed->there = first->layout();
  placed->moved.resize(in.size());
  placed->in.resize(in.size());
  const Device there = device_of(first->layout());
  for (size_t i = 0; i < in.size(); ++i) {
    const Tensor* t = placed->in[i] = in[i];
    if (t == nullptr || !t->defined() || device_of(t->layout()) == there) continue;
    if (t->is_cpu() && !VulkanEager::reads_input(op, i)) continue;  // e.g. the numbers of a shape
    if (t->is_cpu() && t->rank() == 0 && !t->requires_grad()) {
      placed->moved[i] = full_beside(placed->there, {}, *t, where);
      placed->in[i] = &placed->moved[i];
      continue;
    }
    const Tensor* other = t->is_vulkan() && i == 0 ? first : t;
    fail_call(
        op,
        error(Code::kInvalidArgument,
              "tensors of two devices, %.160s and %.160s: move one with .to(\"%s\") or "
              ".cpu()",
              placed_text(*first).c_str(), placed_text(*other).c_str(), there.to_string().c_str()),
        where);
  }
}

void run_on_vulkan(OpId op, const void* attrs, Span<const TensorView> in,
                   Span<const TensorView> out, const Where& where) {
  bool empty = true;
  for (const TensorView& v : out) empty = empty && v.numel() == 0;
  if (empty) return;
  VulkanPlace& place = *place_of(in, out);
  SmallVector<VulkanOperand, 6> from(in.size());
  SmallVector<VulkanOperand, 3> to(out.size());
  for (size_t i = 0; i < in.size(); ++i) from[i] = operand_of(in[i]);
  for (size_t i = 0; i < out.size(); ++i) to[i] = operand_of(out[i]);
  VulkanCall call;
  call.op = op;
  call.attrs = attrs;
  call.in = from;
  call.out = to;
  call.file = where.file_name();
  call.line = where.line();
  const Status s = is_custom(op) ? Status(Code::kUnsupported, "an op of one's own has none")
                                 : place.eager->run(call);
  if (s.ok()) return;
  if (s.code() != Code::kUnsupported && s.code() != Code::kDevice)
    fail_call(op, error(s.code(), "%s", failure_text(place, s).c_str()), where);
  if (place.eager->broken()[0] != 0)
    fail_call(op, error(s.code(), "%s", failure_text(place, s).c_str()), where);
  std::string types;
  for (const TensorView& v : in) {
    if (v.present()) types += (types.empty() ? "" : ", ") + text_of(v);
  }
  const std::string why = s.message();
  fail_call(op,
            error(Code::kUnsupported,
                  "no Vulkan kernel for (%.200s): %s; run it on the CPU: .cpu() its inputs",
                  types.c_str(), why.c_str()),
            where);
}

void copy_bytes(const Tensor& from, const Tensor& to, const Where& where) {
  if (from.layout().numel() == 0) return;
  if (!from.is_vulkan() && !to.is_vulkan()) {
    if (Recorder* r = modes().recorder) [[unlikely]] {
      r->on_tensor(from);
      r->on_tensor(to);
    }
    copy_strided(from.raw(), to.raw());
    if (Recorder* r = modes().recorder) [[unlikely]]
      r->on_copy(from.layout(), to.layout(), where);
    return;
  }
  VulkanPlace& place = *spot_of(to.layout().data).place;
  const Status s = place.eager->copy(operand_of(from.layout()), operand_of(to.layout()));
  if (!s.ok()) throw_error("copy_", failure_text(place, s), where, s.code());
}

Tensor Tensor::to(const Device& device, bool non_blocking, Where where) const {
  need("to", where);
  if (device.is_cpu() && is_cpu()) return *this;
  if (device.is_vulkan() && is_vulkan()) {
    const Device own = device_of(impl_->view);
    if (device == own || (!device.has_index() && own == best_vulkan(where))) return *this;
  }
  if (Tracer* tracer = active_tracer()) tracer->on_read(*this, "to(device)", where);
  if ((!grad_enabled() || !requires_grad()) && modes().forward == 0)
    return transfer("to", *this, device, non_blocking, where);
  return ToDevice::apply(*this, device, non_blocking, where);
}
Tensor Tensor::cpu(Where where) const {
  need("cpu", where);
  return to("cpu", false, where);
}
Tensor Tensor::vulkan(Where where) const {
  need("vulkan", where);
  return to("vulkan", false, where);
}
Device Tensor::device(Where where) const {
  need("device", where);
  return device_of(impl_->view);
}

void Tensor::not_on_host(const char* what, const Where& where) const {
  throw_error(what,
              "the bytes of a tensor on " + device_of(impl_->view).to_string() +
                  " are no memory of the host: use .cpu()",
              where, Code::kUnsupported);
}
void Tensor::not_on_host() const {
  const CallSite* site = modes().site;
  const std::string text = text_of(impl_->view) + " is on " + device_of(impl_->view).to_string() +
                           ", and this reads its bytes on the host: use .cpu()";
  if (site != nullptr) throw_error(site->name, text, site->where, Code::kUnsupported);
  throw Error("[Tensor] " + text, Code::kUnsupported);
}

}  // namespace wick
