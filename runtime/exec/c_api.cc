// Implements the C ABI with Program and Session.
#include "runtime/core/ledger.h"
#include "runtime/exec/c_handles.h"
#include "runtime/exec/state_run.h"
#include "runtime/platform/system.h"
#include "runtime/program/guard.h"
#include "wick/wick.h"

namespace wick::c_api {
namespace {

WICK_THREAD_LOCAL char t_error[WICK_ERROR_TEXTS ? 512 : 64];

void copy_text(const char* text) {
  const size_t n = std::min(strlen(text), sizeof(t_error) - 1);
  memcpy(t_error, text, n);
  t_error[n] = '\0';
}

}  // namespace

const char* last_error() { return t_error; }

int fail(const Status& status, const Log& log) {
  if (status.ok()) return WICK_OK;
  copy_text(status.message());
  if (log.fn != nullptr) {
    char text[sizeof(
        t_error)];  // the host may call Wick there, whose errors have texts of their own
    memcpy(text, t_error, sizeof(text));
    log.fn(log.user, static_cast<int>(status.code()), text);
    memcpy(t_error, text, sizeof(text));
  }
  return static_cast<int>(status.code());
}

Status check_pointer(const void* p, const char* name) {
  if (p != nullptr) return {};
  return error(Code::kInvalidArgument, "%s is null", name);
}

Status check_array(const void* p, size_t count, const char* name) {
  if (p != nullptr || count == 0) return {};
  return error(Code::kInvalidArgument, "%s is null, and its count is %zu: it must be 0 then", name,
               count);
}

bool known_dtype(int dtype) {
  return dtype > 0 &&
         (dtype < kDTypeCount || (dtype <= UINT8_MAX && is_container(static_cast<DType>(dtype))));
}

bool to_view(const wick_tensor& t, TensorView* view) {
  if (t.rank < 0 || t.rank > kMaxRank || !known_dtype(t.dtype)) return false;
  *view = TensorView(t.data, static_cast<DType>(t.dtype),
                     Shape(Span<const int64_t>(t.dims, static_cast<size_t>(t.rank))));
  return true;
}

void to_tensor(const TensorView& view, wick_tensor* t) {
  *t = {};
  t->data = view.data;
  t->dtype = static_cast<int32_t>(view.dtype);
  t->rank = view.rank();
  for (int i = 0; i < view.rank(); ++i) t->dims[i] = view.shape[i];
}

Status read_tensors(const wick_tensor* tensors, size_t n, const char* what, TensorView* views) {
  char name[32];
  part_of_text(name, sizeof(name), "%ss", what);
  WICK_TRY(check_array(tensors, n, name));
  for (size_t i = 0; i < n; ++i) {
    if (!to_view(tensors[i], &views[i])) {
      return error(Code::kInvalidArgument, "%s %zu: rank %d or dtype %d is out of range", what, i,
                   tensors[i].rank, tensors[i].dtype);
    }
  }
  return {};
}

Status check_allocator(const wick_allocator& a) {
  if (a.allocate == nullptr && a.deallocate == nullptr) return {};
  if (a.allocate == nullptr)
    return Status(Code::kInvalidArgument, "allocator.allocate is null, and deallocate is not");
  if (a.deallocate == nullptr)
    return Status(Code::kInvalidArgument, "allocator.deallocate is null, and allocate is not");
  return {};
}

Status read_session_options(const wick_session_options& o, SessionLists& lists, TraceToC& trace,
                            SessionOptions* options) {
  WICK_TRY(check_array(o.max_dims, o.max_dim_count, "options.max_dims"));
  WICK_TRY(check_array(o.kernels, o.kernel_count, "options.kernels"));
  if (o.kernels != nullptr && o.kernel_count == 0) {
    return Status(Code::kInvalidArgument,
                  "options.kernels is there and has no sets: null takes the default ones");
  }
  options->entry = o.entry;
  options->threads = o.threads;
  if (o.max_ram != 0) options->max_ram = o.max_ram;
  if (o.thread_pool != nullptr) options->thread_pool = o.thread_pool->pool.get();
  for (size_t i = 0; i < o.max_dim_count; ++i)
    WICK_TRY(lists.dims.push_back({o.max_dims[i].symbol, o.max_dims[i].extent}));
  options->max_dims = {lists.dims.data(), lists.dims.size()};
  for (size_t i = 0; i < o.kernel_count; ++i) {
    if (o.kernels[i] == nullptr)
      return error(Code::kInvalidArgument, "options.kernels[%zu] is null", i);
    WICK_TRY(lists.kernels.push_back(reinterpret_cast<const KernelSet*>(o.kernels[i])));
  }
  options->kernels = {lists.kernels.data(), lists.kernels.size()};
  if (o.backend != nullptr) options->backend = o.backend->backend;
  options->device_cache = o.device_cache;
  if (o.trace != nullptr) {
    WICK_TRY(trace.take(*o.trace));
    options->trace = &trace;
  }
  return {};
}

namespace {

Status read_device_tensors(wick_device_tensor* const* given, size_t n, const char* name,
                           DeviceTensor** list, Span<DeviceTensor* const>* tensors) {
  WICK_TRY(check_array(given, n, name));
  if (n > DeviceLists::kMost)
    return error(Code::kInvalidArgument, "%s: %zu are given, at most %zu", name, n,
                 DeviceLists::kMost);
  for (size_t i = 0; i < n; ++i) list[i] = given[i] == nullptr ? nullptr : given[i]->tensor;
  *tensors = {list, n};
  return {};
}

}  // namespace

Status read_run_options(const wick_run_options* given, RunOptions* options, DeviceLists* lists,
                        WhenBusy* when_busy) {
  wick_run_options o;
  WICK_TRY(read_options(given, &o));
  if (lists != nullptr) {
    WICK_TRY(read_device_tensors(o.device_inputs, o.device_input_count, "options.device_inputs",
                                 lists->in, &options->device_inputs));
    WICK_TRY(read_device_tensors(o.device_outputs, o.device_output_count, "options.device_outputs",
                                 lists->out, &options->device_outputs));
  }
  options->timeout_ns = o.timeout_ns;
  options->cancel = o.cancel == nullptr ? nullptr : &o.cancel->flag;
  options->state = o.state == nullptr ? nullptr : o.state->state.get();
  if (o.when_busy != WICK_WAIT && o.when_busy != WICK_FAIL) {
    return error(Code::kInvalidArgument, "options.when_busy is %lld: use WICK_WAIT or WICK_FAIL",
                 static_cast<long long>(o.when_busy));
  }
  if (when_busy != nullptr)
    *when_busy = o.when_busy == WICK_WAIT ? WhenBusy::kWait : WhenBusy::kFail;
  return {};
}

// A caller's tensors leave out the ports that the state links; those on a device are not read.
Status read_inputs(const wick_tensor* inputs, size_t n, const RunOptions& options,
                   TensorView* views) {
  WICK_TRY(check_array(inputs, n, "inputs"));
  const auto& device = options.device_inputs;
  for (size_t i = 0, port = 0; i < n; ++i, ++port) {
    while (StateRun::links_input(options.state, port)) ++port;
    views[i] = TensorView();
    if (port < device.size() && device[port] != nullptr) continue;
    if (!to_view(inputs[i], &views[i])) {
      return error(Code::kInvalidArgument, "input %zu: rank %d or dtype %d is out of range", i,
                   inputs[i].rank, inputs[i].dtype);
    }
  }
  return {};
}

Status read_outputs(const wick_tensor* outputs, size_t n, const RunOptions& options,
                    TensorView* views) {
  WICK_TRY(check_array(outputs, n, "outputs"));
  const auto& device = options.device_outputs;
  for (size_t i = 0, port = 0; i < n; ++i, ++port) {
    while (StateRun::links_output(options.state, port)) ++port;
    views[i] = TensorView();
    if (outputs[i].data == nullptr || (port < device.size() && device[port] != nullptr)) continue;
    if (!to_view(outputs[i], &views[i])) {
      return error(Code::kInvalidArgument, "output %zu: rank %d or dtype %d is out of range", i,
                   outputs[i].rank, outputs[i].dtype);
    }
  }
  return {};
}

void give_outputs(const TensorView* views, size_t n, wick_tensor* outputs) {
  for (size_t i = 0; i < n; ++i) {
    if (outputs[i].data == nullptr && views[i].present()) to_tensor(views[i], &outputs[i]);
  }
}

void fill_port(const Program& program, const char* name, DType dtype, bool unranked,
               Span<const DimDef> dims, wick_port* port) {
  *port = {};
  port->name = name;
  port->dtype = static_cast<int32_t>(dtype);
  port->rank = unranked ? -1 : static_cast<int32_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool free = dims[d].symbol >= 0;
    port->dims[d] = free ? -1 : dims[d].value;
    if (free) port->symbols[d] = program.symbols()[static_cast<size_t>(dims[d].symbol)].name;
  }
}

}  // namespace wick::c_api

wick_allocator wick_program::allocator_for(const wick_allocator& own) const {
  using wick::c_api::CAllocator;
  if (own.allocate != nullptr) return own;
  return {const_cast<CAllocator*>(&allocator),
          [](void* a, size_t n, size_t align) {
            return static_cast<CAllocator*>(a)->allocate(n, align);
          },
          [](void* a, void* p, size_t n, size_t align) {
            static_cast<CAllocator*>(a)->deallocate(p, n, align);
          }};
}

using namespace wick;         // NOLINT: this file only translates
using namespace wick::c_api;  // NOLINT

namespace {

constexpr char kVersion[] = "0.1.0";

template <class Load>
int load_with(const wick_load_options* given, wick_program** out, Load load) {
  wick_load_options o;
  Status s = read_options(given, &o);
  Log log{o.log, o.log_user};
  if (s.ok()) s = check_pointer(out, "program");
  if (s.ok()) s = check_allocator(o.allocator);
  if (s.ok()) s = check_array(o.ops, o.ops_count, "options.ops");
  if (s.ok()) s = check_array(o.allowed_ops, o.allowed_op_count, "options.allowed_ops");
  // An empty list that a caller computed must not mean "every op".
  if (s.ok() && o.allowed_ops != nullptr && o.allowed_op_count == 0)
    s = Status(Code::kInvalidArgument,
               "options.allowed_ops is there and has no names: null allows every op");
  for (size_t i = 0; s.ok() && i < o.allowed_op_count; ++i) {
    if (o.allowed_ops[i] == nullptr)
      s = error(Code::kInvalidArgument, "options.allowed_ops[%zu] is null", i);
  }
  if (s.ok() && (o.weights < WICK_WEIGHTS_AUTO || o.weights > WICK_WEIGHTS_MAP)) {
    s = error(Code::kInvalidArgument, "options.weights is %d: use WICK_WEIGHTS_AUTO, _COPY or _MAP",
              o.weights);
  }
  if (!s.ok()) return fail(s, log);
  CAllocator allocator(o.allocator);
  void* memory = allocator.allocate(sizeof(wick_program), alignof(wick_program));
  if (memory == nullptr) return fail(Status(Code::kOutOfMemory, "cannot allocate a program"), log);
  auto* p = new (memory) wick_program(o);
  LoadOptions options;
  options.allocator = &p->allocator;
  if (o.max_file != 0) options.max_file = o.max_file;
  options.max_ram = o.max_ram;
  options.verify_digests = o.verify_digests != 0;
  options.weights = static_cast<WeightsIn>(o.weights);
  options.guard = o.guard != 0;
  options.keep_packed = o.keep_packed != 0;
  options.ops = {o.allowed_ops, o.allowed_op_count};
  for (size_t i = 0; s.ok() && i < o.ops_count; ++i) {
    if (o.ops[i] == nullptr) {
      s = error(Code::kInvalidArgument, "options.ops[%zu] is null", i);
      break;
    }
    for (const CustomOp* op : o.ops[i]->list) {
      if (s.ok()) s = p->ops.push_back(op);
    }
  }
  options.custom_ops = {p->ops.data(), p->ops.size()};
  Ledger ledger({.visits = o.max_visits});
  if (o.max_visits != 0) options.ledger = &ledger;
  auto loaded = s.ok() ? load(options) : Result<Owned<Program>>(s);
  if (!loaded.ok()) {
    int code = fail(loaded.status(), log);
    wick_program_free(p);
    return code;
  }
  p->program = std::move(*loaded);
  *out = p;
  return WICK_OK;
}

Status check_port(const wick_session* s, const wick_port* port) {
  WICK_TRY(check_pointer(s, "session"));
  return check_pointer(port, "port");
}

// `fewer`: a state may link some; then the session counts.
Status check_count(const wick_session* s, size_t inputs, size_t outputs, bool fewer = false) {
  const size_t ins = s->session->input_count(), outs = s->session->output_count();
  if (fewer ? inputs <= ins && outputs <= outs : inputs == ins && outputs == outs) return {};
  return error(Code::kInvalidArgument,
               "%zu inputs and %zu outputs given, the program has %zu and %zu", inputs, outputs,
               ins, outs);
}

}  // namespace

const char* wick_version(void) { return kVersion; }
const char* wick_last_error(void) { return last_error(); }
const char* wick_code_name(int code) {
  return code < 0 || code > WICK_BUSY ? "unknown code" : code_name(static_cast<Code>(code));
}
const char* wick_dtype_name(int dtype) {
  return !known_dtype(dtype) ? "invalid" : dtype_name(static_cast<DType>(dtype));
}
size_t wick_dtype_size(int dtype) {
  return !known_dtype(dtype) ? 0 : dtype_size(static_cast<DType>(dtype));
}

int wick_ops_load(const char* path, wick_ops** out) {
  Status given = check_pointer(out, "ops");
  if (given.ok()) given = check_pointer(path, "path");
  if (!given.ok()) return fail(given, {});
  auto library = OpLibrary::open(path);
  if (!library.ok()) return fail(library.status(), {});
  void* memory = default_allocator().allocate(sizeof(wick_ops), alignof(wick_ops));
  if (memory == nullptr) return fail(Status(Code::kOutOfMemory, "cannot allocate ops"), {});
  auto* ops = new (memory) wick_ops;
  ops->library = std::move(*library);
  for (const CustomOp* op : ops->library->ops()) {
    if (int code = fail(ops->add(op), {})) {
      wick_ops_free(ops);
      return code;
    }
  }
  *out = ops;
  return WICK_OK;
}
void wick_ops_free(wick_ops* ops) {
  if (ops == nullptr) return;
  ops->~wick_ops();
  default_allocator().deallocate(ops, sizeof(wick_ops), alignof(wick_ops));
}
size_t wick_ops_count(const wick_ops* ops) { return ops == nullptr ? 0 : ops->names.size(); }
const char* wick_ops_name(const wick_ops* ops, size_t i) {
  return i < wick_ops_count(ops) ? ops->names[i].text : nullptr;
}

int wick_cancel_create(wick_cancel** out) {
  if (Status given = check_pointer(out, "cancel"); !given.ok()) return fail(given, {});
  void* memory = default_allocator().allocate(sizeof(wick_cancel), alignof(wick_cancel));
  if (memory == nullptr)
    return fail(Status(Code::kOutOfMemory, "cannot allocate a wick_cancel"), {});
  *out = new (memory) wick_cancel{};
  return WICK_OK;
}
void wick_cancel_free(wick_cancel* cancel) {
  default_allocator().deallocate(cancel, sizeof(wick_cancel), alignof(wick_cancel));
}
void wick_cancel_request(wick_cancel* cancel) {
  if (cancel != nullptr) cancel->flag.request();
}
void wick_cancel_clear(wick_cancel* cancel) {
  if (cancel != nullptr) cancel->flag.clear();
}

int wick_program_load(const char* path, const wick_load_options* options, wick_program** program) {
  return load_with(options, program, [&](const LoadOptions& o) { return Program::load(path, o); });
}
int wick_program_load_memory(const void* data, size_t bytes, const wick_load_options* options,
                             wick_program** program) {
  return load_with(options, program, [&](const LoadOptions& o) -> Result<Owned<Program>> {
    WICK_TRY(check_array(data, bytes, "data"));
    return Program::load(Span<const uint8_t>(static_cast<const uint8_t*>(data), bytes), o);
  });
}
void wick_program_free(wick_program* p) {
  if (p == nullptr) return;
  p->program.reset();
  CAllocator allocator = p->allocator;
  p->~wick_program();
  allocator.deallocate(p, sizeof(wick_program), alignof(wick_program));
}
size_t wick_program_entry_count(const wick_program* p) {
  return p == nullptr ? 0 : p->program->entries().size();
}
const char* wick_program_entry_name(const wick_program* p, size_t i) {
  return i < wick_program_entry_count(p) ? p->program->entries()[i].name : nullptr;
}
size_t wick_program_label_count(const wick_program* p) {
  return p == nullptr ? 0 : p->program->labels().size();
}
const char* wick_program_label(const wick_program* p, size_t i) {
  return i < wick_program_label_count(p) ? p->program->labels()[i] : nullptr;
}
const char* wick_program_metadata(const wick_program* p, const char* key) {
  return p == nullptr ? nullptr : p->program->find_metadata(key);
}
const uint8_t* wick_program_digest(const wick_program* p) {
  return p == nullptr || p->program->digest().empty() ? nullptr : p->program->digest().data();
}
size_t wick_program_packed_bytes(const wick_program* p) {
  return p == nullptr ? 0 : p->program->packed().bytes;
}
int wick_install_guard(void) { return fail(install_guard(), {}); }

int wick_session_create(const wick_program* program, const wick_session_options* given,
                        wick_session** out) {
  Status sound = check_pointer(program, "program");
  if (!sound.ok()) return fail(sound, {});
  wick_session_options o;
  sound = read_options(given, &o);
  if (sound.ok()) sound = check_pointer(out, "session");
  if (sound.ok()) sound = check_allocator(o.allocator);
  if (!sound.ok()) return fail(sound, program->log);
  const wick_allocator from = program->allocator_for(o.allocator);
  CAllocator allocator(from);
  void* memory = allocator.allocate(sizeof(wick_session), alignof(wick_session));
  if (memory == nullptr)
    return fail(Status(Code::kOutOfMemory, "cannot allocate a session"), program->log);
  auto* s = new (memory) wick_session(from, *program);
  auto open = [&]() -> Status {
    SessionOptions options;
    options.allocator = &s->allocator;
    SessionLists lists(s->allocator);
    WICK_TRY(read_session_options(o, lists, s->trace, &options));
    WICK_ASSIGN(s->own, Session::create(*program->program, options));
    s->session = s->own.get();
    return s->views.resize(s->session->input_count() + s->session->output_count());
  };
  if (int code = fail(open(), program->log); code != WICK_OK) {
    wick_session_free(s);
    return code;
  }
  *out = s;
  return WICK_OK;
}
void wick_session_free(wick_session* s) {
  if (s == nullptr) return;
  if (s->session != s->own.get()) {  // a pool's: another caller may have it at once
    s->lease = {};
    return;
  }
  s->own.reset();
  CAllocator allocator = s->allocator;
  s->~wick_session();
  allocator.deallocate(s, sizeof(wick_session), alignof(wick_session));
}
size_t wick_session_input_count(const wick_session* s) {
  return s == nullptr ? 0 : s->session->input_count();
}
size_t wick_session_output_count(const wick_session* s) {
  return s == nullptr ? 0 : s->session->output_count();
}
int wick_session_input(const wick_session* s, size_t i, wick_port* port) {
  if (Status given = check_port(s, port); !given.ok()) return fail(given, log_for(s));
  if (i >= s->session->input_count())
    return fail(error(Code::kInvalidArgument, "there is no input %zu", i), log_for(s));
  const PortInfo info = s->session->input(i);
  fill_port(*s->program.program, info.name, info.dtype, info.unranked, info.dims, port);
  return WICK_OK;
}
int wick_session_output(const wick_session* s, size_t i, wick_port* port) {
  if (Status given = check_port(s, port); !given.ok()) return fail(given, log_for(s));
  if (i >= s->session->output_count())
    return fail(error(Code::kInvalidArgument, "there is no output %zu", i), log_for(s));
  const PortInfo info = s->session->output(i);
  fill_port(*s->program.program, info.name, info.dtype, info.unranked, info.dims, port);
  return WICK_OK;
}
int wick_session_input_element(const wick_session* s, size_t i) {
  return i < wick_session_input_count(s) ? static_cast<int>(s->session->input(i).element) : 0;
}
int wick_session_output_element(const wick_session* s, size_t i) {
  return i < wick_session_output_count(s) ? static_cast<int>(s->session->output(i).element) : 0;
}
int wick_session_find_input(const wick_session* s, const char* name) {
  return s == nullptr ? -1 : s->session->find_input(name);
}
int wick_session_find_output(const wick_session* s, const char* name) {
  return s == nullptr ? -1 : s->session->find_output(name);
}
int wick_session_bind(wick_session* s, const wick_tensor* inputs, size_t n) {
  auto bind = [&]() -> Status {
    WICK_TRY(check_pointer(s, "session"));
    Turn turn(s->use);
    WICK_TRY(turn.take());
    WICK_TRY(check_count(s, n, s->session->output_count()));
    WICK_TRY(read_tensors(inputs, n, "input", s->views.data()));
    Array<Shape> shapes(s->allocator);
    for (size_t i = 0; i < n; ++i) WICK_TRY(shapes.push_back(s->views[i].shape));
    return s->session->bind(shapes);
  };
  return fail(bind(), log_for(s));
}
int wick_session_output_shape(const wick_session* s, size_t i, wick_tensor* tensor) {
  auto fill = [&]() -> Status {
    WICK_TRY(check_pointer(s, "session"));
    WICK_TRY(check_pointer(tensor, "shape"));
    WICK_ASSIGN(Shape shape, s->session->output_shape(i));
    to_tensor(TensorView(nullptr, s->session->output(i).dtype, shape), tensor);
    return {};
  };
  return fail(fill(), log_for(s));
}
int wick_session_run(wick_session* s, const wick_tensor* inputs, size_t input_count,
                     wick_tensor* outputs, size_t output_count, const wick_run_options* given) {
  auto run = [&]() -> Status {
    WICK_TRY(check_pointer(s, "session"));
    RunOptions options;
    DeviceLists lists;
    WICK_TRY(read_run_options(given, &options, &lists));
    Turn turn(s->use);
    WICK_TRY(turn.take());
    WICK_TRY(check_count(s, input_count, output_count, options.state != nullptr));
    TensorView* in = s->views.data();
    TensorView* out = in + input_count;
    WICK_TRY(read_inputs(inputs, input_count, options, in));
    WICK_TRY(read_outputs(outputs, output_count, options, out));
    WICK_TRY(s->session->run(Span<const TensorView>(in, input_count),
                             Span<TensorView>(out, output_count), options));
    give_outputs(out, output_count, outputs);
    return {};
  };
  return fail(run(), log_for(s));
}
size_t wick_session_memory(const wick_session* s) {
  return s == nullptr ? 0 : s->session->arena_bytes() + s->session->packed_bytes();
}
size_t wick_session_shared_memory(const wick_session* s) {
  return s == nullptr ? 0 : s->session->shared_bytes();
}
