// The C ABI of wick/c/session.h: runs by name, runs in two halves, and what a session holds.
#include "wick/c/session.h"

#include "runtime/backend/backend.h"
#include "runtime/exec/c_handles.h"

using namespace wick;         // NOLINT: this file only translates
using namespace wick::c_api;  // NOLINT

namespace {

// More ports than the program has cannot be right, and there is no room for them.
Status check_at_most(const wick_session* s, size_t inputs, size_t outputs) {
  if (inputs <= s->session->input_count() && outputs <= s->session->output_count()) return {};
  return error(Code::kInvalidArgument,
               "%zu inputs and %zu outputs given, the program has %zu and %zu", inputs, outputs,
               s->session->input_count(), s->session->output_count());
}

Status named_view(const wick_named_tensor& from, const char* what, NamedView* to) {
  *to = {from.name, {}};
  if (to_view(from.tensor, &to->view)) return {};
  return error(Code::kInvalidArgument, "%s %.60s: rank %d or dtype %d is out of range", what,
               from.name == nullptr ? "without a name" : from.name, from.tensor.rank,
               from.tensor.dtype);
}

Status run_named(wick_session* s, const wick_named_tensor* inputs, size_t input_count,
                 wick_named_tensor* outputs, size_t output_count, const wick_run_options* given) {
  WICK_TRY(check_pointer(s, "session"));
  RunOptions options;
  DeviceLists lists;
  WICK_TRY(read_run_options(given, &options, &lists));
  Turn turn(s->use);
  WICK_TRY(turn.take());
  WICK_TRY(check_array(inputs, input_count, "inputs"));
  WICK_TRY(check_array(outputs, output_count, "outputs"));
  WICK_TRY(check_at_most(s, input_count, output_count));
  WICK_TRY(s->named.resize(s->views.size()));  // only the first of these runs allocates
  NamedView* in = s->named.data();
  NamedView* out = in + input_count;
  for (size_t i = 0; i < input_count; ++i) WICK_TRY(named_view(inputs[i], "input", in + i));
  for (size_t i = 0; i < output_count; ++i) {
    out[i] = {outputs[i].name, {}};
    if (outputs[i].tensor.data != nullptr) WICK_TRY(named_view(outputs[i], "output", out + i));
  }
  WICK_TRY(s->session->run(Span<const NamedView>(in, input_count),
                           Span<NamedView>(out, output_count), options));
  for (size_t i = 0; i < output_count; ++i) give_outputs(&out[i].view, 1, &outputs[i].tensor);
  return {};
}

Result<TensorView> view_of_tensor(const wick_tensor* tensor) {
  WICK_TRY(check_pointer(tensor, "tensor"));
  TensorView view;
  if (!to_view(*tensor, &view))
    return error(Code::kInvalidArgument, "rank %d or dtype %d is out of range", tensor->rank,
                 tensor->dtype);
  return view;
}

}  // namespace

int wick_session_run_named(wick_session* s, const wick_named_tensor* inputs, size_t input_count,
                           wick_named_tensor* outputs, size_t output_count,
                           const wick_run_options* options) {
  return fail(run_named(s, inputs, input_count, outputs, output_count, options), log_for(s));
}
int wick_session_start(wick_session* s, const wick_tensor* inputs, size_t input_count,
                       const wick_run_options* given) {
  auto start = [&]() -> Status {
    WICK_TRY(check_pointer(s, "session"));
    RunOptions options;
    DeviceLists lists;
    WICK_TRY(read_run_options(given, &options, &lists));
    Turn turn(s->use);
    WICK_TRY(turn.take());
    WICK_TRY(check_array(inputs, input_count, "inputs"));
    const size_t ports = s->session->input_count();
    if (options.state == nullptr ? input_count != ports : input_count > ports) {
      return error(Code::kInvalidArgument, "%zu inputs given, the program has %zu", input_count,
                   ports);
    }
    WICK_TRY(read_inputs(inputs, input_count, options, s->views.data()));
    return s->session->start(Span<const TensorView>(s->views.data(), input_count), options);
  };
  return fail(start(), log_for(s));
}
int wick_session_finish(wick_session* s, wick_tensor* outputs, size_t output_count) {
  auto finish = [&]() -> Status {
    WICK_TRY(check_pointer(s, "session"));
    Turn turn(s->use);
    WICK_TRY(turn.take());
    WICK_TRY(check_array(outputs, output_count, "outputs"));
    if (output_count > s->session->output_count()) {  // finish() counts them, less what is linked
      return error(Code::kInvalidArgument, "%zu outputs given, the program has %zu", output_count,
                   s->session->output_count());
    }
    // The session has its own list of inputs since start(), so these views are free.
    TensorView* out = s->views.data();
    WICK_TRY(read_outputs(outputs, output_count, {}, out));
    WICK_TRY(s->session->finish(Span<TensorView>(out, output_count)));
    give_outputs(out, output_count, outputs);
    return {};
  };
  return fail(finish(), log_for(s));
}

const char* wick_session_left_backend(const wick_session* s) {
  return s == nullptr ? nullptr : s->session->left_backend();
}
const char* wick_session_refused_cache(const wick_session* s) {
  return s == nullptr ? nullptr : s->session->refused_cache();
}
size_t wick_session_step_count(const wick_session* s) {
  return s == nullptr ? 0 : s->session->step_count();
}
size_t wick_session_arena_bytes(const wick_session* s) {
  return s == nullptr ? 0 : s->session->arena_bytes();
}
size_t wick_session_packed_bytes(const wick_session* s) {
  return s == nullptr ? 0 : s->session->packed_bytes();
}
int wick_session_threads(const wick_session* s) { return s == nullptr ? 0 : s->session->threads(); }
size_t wick_session_packed_form_count(const wick_session* s) {
  return s == nullptr ? 0 : s->session->packed_form_count();
}
int wick_session_packed_form(const wick_session* s, size_t i, wick_packed_form* form) {
  auto fill = [&]() -> Status {
    WICK_TRY(check_pointer(s, "session"));
    WICK_TRY(check_pointer(form, "form"));
    WICK_ASSIGN(Session::PackedForm packed, s->session->packed_form(i));
    wick_packed_form full = {};
    full.constant = packed.constant;
    full.layout = packed.layout;
    full.data = packed.bytes.data();
    full.bytes = packed.bytes.size();
    return write_struct(full, form, "form");
  };
  return fail(fill(), log_for(s));
}

int wick_cancel_requested(const wick_cancel* cancel) {
  return cancel != nullptr && cancel->flag.requested() ? 1 : 0;
}
const char* wick_backend_name(const wick_backend* backend) {
  return backend == nullptr ? nullptr : backend->backend->name();
}
int wick_tensor_elements(const wick_tensor* tensor, int64_t* elements) {
  auto count = [&]() -> Status {
    WICK_ASSIGN(TensorView view, view_of_tensor(tensor));
    WICK_TRY(check_pointer(elements, "elements"));
    WICK_TRY(checked_bytes(view.shape, dtype_bits(view.dtype)).status());
    *elements = view.numel();
    return {};
  };
  return fail(count(), {});
}
int wick_tensor_bytes(const wick_tensor* tensor, size_t* bytes) {
  auto count = [&]() -> Status {
    WICK_ASSIGN(TensorView view, view_of_tensor(tensor));
    WICK_TRY(check_pointer(bytes, "bytes"));
    WICK_ASSIGN(*bytes, checked_bytes(view.shape, dtype_bits(view.dtype)));
    return {};
  };
  return fail(count(), {});
}
