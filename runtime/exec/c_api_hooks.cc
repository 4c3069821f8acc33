// The C ABI of wick/c/hooks.h: traces and explanations, handed to C functions.
#include "wick/c/hooks.h"

#include "runtime/backend/explain.h"
#include "runtime/exec/c_handles.h"

struct wick_views {
  wick::Span<const wick::TensorView> list;
};

using namespace wick;         // NOLINT: this file only translates
using namespace wick::c_api;  // NOLINT

namespace wick::c_api {

Status TraceToC::take(const wick_trace_hook& given) {
  WICK_TRY(read_struct(&given, &hook_, "options.trace"));
  if (hook_.on_step != nullptr) return {};
  return Status(Code::kInvalidArgument, "options.trace.on_step is null");
}

void TraceToC::on_op(const TraceEvent& from) {
  const wick_views in{from.in}, out{from.out};
  wick_trace_event event = {};
  event.size = sizeof(event);
  event.op = from.op;
  event.node = from.node;
  event.kernel = from.kernel;
  event.backend = from.backend;
  event.index = from.index;
  event.begin_ns = from.begin_ns;
  event.end_ns = from.end_ns;
  event.in = &in;
  event.out = &out;
  hook_.on_step(hook_.user, &event);
}

}  // namespace wick::c_api

namespace {

class ExplainToC final : public ExplainHook {
 public:
  explicit ExplainToC(const wick_explain_hook& hook) : hook_(hook) {}

  void on_step(const PlacedStep& from) override {
    if (hook_.on_step == nullptr) return;
    const wick_views in{from.in}, out{from.out};
    wick_placed_step to = {};
    to.size = sizeof(to);
    to.op = from.op;
    to.node = from.node;
    to.backend = from.backend;
    to.kernel = from.kernel;
    to.why = from.why;
    to.index = from.index;
    to.region = from.region;
    to.in = &in;
    to.out = &out;
    hook_.on_step(hook_.user, &to);
  }
  void on_kernel(const PlacedKernel& from) override {
    if (hook_.on_kernel == nullptr) return;
    wick_placed_kernel to = {};
    to.size = sizeof(to);
    to.name = from.name;
    to.index = from.index;
    for (int i = 0; i < 3; ++i) {
      to.groups[i] = from.groups[i];
      to.group_size[i] = from.group_size[i];
    }
    to.shared_bytes = from.shared_bytes;
    to.subgroup_size = from.subgroup_size;
    to.constants = from.constants.data();
    to.constant_count = from.constants.size();
    to.read_bytes = from.read_bytes;
    to.written_bytes = from.written_bytes;
    hook_.on_kernel(hook_.user, &to);
  }
  void on_copy(const PlacedCopy& from) override {
    if (hook_.on_copy == nullptr) return;
    wick_placed_copy to = {};
    to.size = sizeof(to);
    to.value = from.value;
    to_tensor(from.type, &to.type);
    to.to_device = from.to_device ? 1 : 0;
    to.op = from.op;
    to.node = from.node;
    to.backend = from.backend;
    hook_.on_copy(hook_.user, &to);
  }
  void on_part(const PlacedPart& from) override {
    if (hook_.on_part == nullptr) return;
    wick_placed_part to = {};
    to.size = sizeof(to);
    to.backend = from.backend;
    to.kernels = from.kernels;
    to.barriers = from.barriers;
    to.read_bytes = from.read_bytes;
    to.written_bytes = from.written_bytes;
    to.flops = from.flops;
    to.arena_bytes = from.arena_bytes;
    to.constant_bytes = from.constant_bytes;
    to.staging_bytes = from.staging_bytes;
    hook_.on_part(hook_.user, &to);
  }

 private:
  const wick_explain_hook& hook_;
};

Status check_view(const wick_views* views, size_t i) {
  WICK_TRY(check_pointer(views, "views"));
  if (i < views->list.size()) return {};
  return error(Code::kInvalidArgument, "there is no tensor %zu of %zu", i, views->list.size());
}

}  // namespace

size_t wick_views_count(const wick_views* views) {
  return views == nullptr ? 0 : views->list.size();
}
int wick_views_tensor(const wick_views* views, size_t i, wick_tensor* tensor) {
  auto fill = [&]() -> Status {
    WICK_TRY(check_view(views, i));
    WICK_TRY(check_pointer(tensor, "tensor"));
    to_tensor(views->list[i], tensor);
    return {};
  };
  return fail(fill(), {});
}
int wick_views_layout(const wick_views* views, size_t i, int64_t strides[WICK_MAX_RANK],
                      int* block) {
  auto fill = [&]() -> Status {
    WICK_TRY(check_view(views, i));
    WICK_TRY(check_pointer(strides, "strides"));
    WICK_TRY(check_pointer(block, "block"));
    const TensorView& view = views->list[i];
    for (int d = 0; d < view.rank(); ++d) strides[d] = view.strides[d];
    *block = view.block;
    return {};
  };
  return fail(fill(), {});
}
int wick_session_explain(const wick_session* s, const wick_explain_hook* given) {
  auto explain = [&]() -> Status {
    WICK_TRY(check_pointer(s, "session"));
    WICK_TRY(check_pointer(given, "hook"));
    wick_explain_hook hook;
    WICK_TRY(read_struct(given, &hook, "hook"));
    ExplainToC to(hook);
    return s->session->explain(to);
  };
  return fail(explain(), log_for(s));
}
