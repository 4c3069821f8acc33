// Going on on the CPU where a backend failed: the call that met it begins again there.
#include <cstdio>

#include "runtime/exec/session_impl.h"

namespace wick {

// True: `why` is the backend's failure as far as can be known, and from now on there is the CPU
// alone.
bool Session::Impl::leave_backend(const Status& why) {
  if (backend == nullptr || (why.code() != Code::kDevice && why.code() != Code::kOutOfMemory))
    return false;
  snprintf(left_backend, sizeof(left_backend), "%s", why.message());
  left.store(true, std::memory_order_release);
  unbind();
  backend = nullptr;
  return true;
}

Status Session::Impl::bind(Span<const Shape> given_shapes) {
  Status s = bind_once(given_shapes);
  return leave_backend(s) ? bind_once(given_shapes) : s;
}

Status Session::Impl::run_or_leave(Span<const TensorView> inputs, Span<TensorView> outputs,
                                   uint64_t deadline_ns) {
  Status ran = run_bound(inputs, outputs, deadline_ns);
  if (!leave_backend(ran)) return ran;
  // Inputs are only read and outputs written last: it can begin again.
  WICK_TRY(bind_again(inputs));
  return run_bound(inputs, outputs, deadline_ns);
}

Status Session::Impl::bind_again(Span<const TensorView> inputs) {
  Array<Shape> again(allocator);
  for (const TensorView& v : inputs) WICK_TRY(again.push_back(v.shape));
  return bind_once(again);
}

}  // namespace wick
