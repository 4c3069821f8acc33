/* c_device MODEL.wick [DEVICE [CACHE]]: a recurrent model whose state stays on a Vulkan device.
 * MODEL has two inputs, x and a state, and two outputs, the second of which is the state after the
 * step. Takes the best device, or the named one; opens a session with the cache that
 * `wick devices --warm` wrote, if one is given; says where the steps run; runs three steps with the
 * state in one tensor on the device, and traces the first; reads the state once, at the end; and
 * has another thread end a stream of steps. Link Wick::vulkan and Wick::runtime, or
 * libwick_vulkan.so. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wick/c/hooks.h"
#include "wick/c/session.h"
#include "wick/c/vulkan.h"

static int check(int code) {
  if (code == WICK_OK) return 0;
  fprintf(stderr, "%s: %s\n", wick_code_name(code), wick_last_error());
  return 1;
}

/* Opens the device and says which it is and whether its kernels are right. */
static int open_device(const char* name, wick_backend** backend) {
  wick_vulkan_options options = WICK_INIT(wick_vulkan_options);
  wick_vulkan_device device = WICK_INIT(wick_vulkan_device);
  options.device = name;
  if (check(wick_vulkan_create(&options, backend))) return 1;
  if (check(wick_vulkan_opened(*backend, &device))) return 1;
  printf("on %s (%s)\n", device.name, device.type);
  return 0;
}

/* Describes an input of the model as a tensor of zeros, which has no data yet. */
static int type_of(const wick_session* session, size_t input, wick_tensor* tensor) {
  wick_port port;
  int d;
  memset(tensor, 0, sizeof(*tensor));
  if (check(wick_session_input(session, input, &port))) return 1;
  tensor->dtype = port.dtype;
  tensor->rank = port.rank < 0 ? 0 : port.rank;
  for (d = 0; d < tensor->rank; ++d) tensor->dims[d] = port.dims[d] < 0 ? 1 : port.dims[d];
  return 0;
}

static int allocate(wick_tensor* tensor) {
  size_t bytes = 0;
  if (check(wick_tensor_bytes(tensor, &bytes))) return 1;
  tensor->data = calloc(bytes == 0 ? 1 : bytes, 1);
  return tensor->data == NULL;
}

static void on_step(void* user, const wick_trace_event* event) {
  int* quiet = user;
  if (!*quiet) printf("ran %s %s on %s\n", event->op, event->kernel, event->backend);
}

static void on_place(void* user, const wick_placed_step* step) {
  (void)user;
  printf("%s %s: %s%s%s\n", step->op, step->node, step->backend,
         step->why[0] != '\0' ? ", because " : "", step->why);
}

static void* cancel_soon(void* flag) {
  const struct timespec moment = {0, 20000000};
  nanosleep(&moment, NULL);
  wick_cancel_request(flag);
  return NULL;
}

/* Steps until another thread ends the stream. */
static int stream(wick_session* session, const wick_tensor* in, wick_tensor* out,
                  const wick_run_options* options) {
  wick_run_options run = *options;
  wick_cancel* cancel = NULL;
  pthread_t other;
  int code = WICK_OK;
  if (check(wick_cancel_create(&cancel))) return 1;
  run.cancel = cancel;
  if (pthread_create(&other, NULL, cancel_soon, cancel) != 0) return 1;
  while (code == WICK_OK) code = wick_session_run(session, in, 2, out, 2, &run);
  pthread_join(other, NULL);
  wick_cancel_free(cancel);
  printf("the stream ended: %s\n", wick_code_name(code));
  return code != WICK_CANCELLED;
}

int main(int argc, char** argv) {
  wick_session_options open = WICK_INIT(wick_session_options);
  wick_trace_hook trace = WICK_INIT(wick_trace_hook);
  wick_explain_hook explain = WICK_INIT(wick_explain_hook);
  wick_run_options run = WICK_INIT(wick_run_options);
  wick_program* program = NULL;
  wick_session* session = NULL;
  wick_backend* backend = NULL;
  wick_device_tensor* state = NULL;
  wick_device_tensor* ports[2];
  wick_tensor in[2], out[2], type, host;
  int quiet = 0, failed = 0, k;
  if (argc < 2 || argc > 4) return puts("usage: c_device MODEL.wick [DEVICE [CACHE]]"), 2;

  if (open_device(argc > 2 ? argv[2] : NULL, &backend)) return 1;
  if (check(wick_program_load(argv[1], NULL, &program))) return 1;
  trace.user = &quiet;
  trace.on_step = on_step;
  open.trace = &trace;
  open.backend = backend;
  open.device_cache = argc > 3 ? argv[3] : NULL;
  if (check(wick_session_create(program, &open, &session))) return 1;
  if (wick_session_refused_cache(session)[0] != '\0')
    printf("%s\n", wick_session_refused_cache(session));
  printf("%zu kernels were checked now\n", wick_vulkan_checked_count(backend));
  if (wick_session_input_count(session) != 2 || wick_session_output_count(session) != 2)
    return puts("the model has other inputs and outputs than x and a state"), 1;

  /* x is the host's, the state is one tensor on the device, before and after the step. */
  memset(in, 0, sizeof(in));
  memset(out, 0, sizeof(out));
  if (type_of(session, 0, &in[0]) || allocate(&in[0]) || type_of(session, 1, &type)) return 1;
  if (check(wick_vulkan_tensor_create(backend, &type, &state))) return 1;
  ports[0] = NULL;
  ports[1] = state;
  run.device_inputs = run.device_outputs = ports;
  run.device_input_count = run.device_output_count = 2;
  for (k = 0; k < 3; ++k) {
    out[0].data = NULL; /* in the session's memory */
    failed |= check(wick_session_run(session, in, 2, out, 2, &run));
    quiet = 1;
  }
  explain.on_step = on_place;
  failed |= check(wick_session_explain(session, &explain));

  host = type;
  if (allocate(&host)) return 1;
  failed |= check(wick_vulkan_tensor_read(state, &host));
  if (!failed) puts("read the state after three steps");
  out[0].data = NULL;
  failed |= stream(session, in, out, &run);
  if (wick_session_left_backend(session)[0] != '\0')
    printf("the device was left: %s\n", wick_session_left_backend(session));

  free(in[0].data);
  free(host.data);
  wick_session_free(session);
  wick_vulkan_tensor_free(state);
  wick_vulkan_free(backend);
  wick_program_free(program);
  return failed;
}
