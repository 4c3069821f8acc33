/* c_session MODEL.wick [DEVICE]: all that a session can, from C. Lists the Vulkan devices and takes
 * the best one, or the named one, where there is one; says what the file is; runs it on zeros with
 * a trace; asks where its steps run; asks for the last output alone, by its name; runs in two
 * halves; and ends runs from another thread. Link Wick::vulkan and Wick::runtime, or
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

/* Returns the device that was asked for, or the best one; NULL: the CPU does everything. */
static wick_backend* choose_device(const char* name) {
  wick_vulkan_devices* list = NULL;
  wick_vulkan_device device = WICK_INIT(wick_vulkan_device);
  wick_vulkan_options options = WICK_INIT(wick_vulkan_options);
  wick_backend* backend = NULL;
  size_t i;
  if (wick_vulkan_devices_list(&list) == WICK_OK) {
    for (i = 0; i < wick_vulkan_devices_count(list); ++i) {
      if (check(wick_vulkan_devices_get(list, i, &device))) continue;
      printf("device %zu: %s (%s)%s%s\n", i, device.name, device.type, device.best ? ", best" : "",
             device.why_unusable);
    }
    wick_vulkan_devices_free(list);
  }
  options.device = name;
  if (wick_vulkan_create(&options, &backend) == WICK_OK) return backend;
  printf("on the CPU: %s\n", wick_last_error());
  return NULL;
}

static void describe(const wick_program* program) {
  wick_provenance from = WICK_INIT(wick_provenance);
  wick_symbol symbol = WICK_INIT(wick_symbol);
  const char *key, *value;
  size_t i;
  if (!check(wick_program_provenance(program, &from)))
    printf("made by %s, Wick %s\n", from.source, from.wick_version);
  for (i = 0; i < wick_program_symbol_count(program); ++i) {
    if (!check(wick_program_symbol(program, i, &symbol)))
      printf("%s: %lld to %lld\n", symbol.name, (long long)symbol.min, (long long)symbol.max);
  }
  for (i = 0; i < wick_program_metadata_count(program); ++i) {
    if (!check(wick_program_metadata_entry(program, i, &key, &value)))
      printf("%s = %s\n", key, value);
  }
}

/* Prints the steps of the first run. */
typedef struct seen_steps {
  size_t count;
  int quiet;
} seen_steps;
static void on_step(void* user, const wick_trace_event* event) {
  seen_steps* seen = user;
  if (seen->quiet) return;
  ++seen->count;
  printf("ran %s %s on %s\n", event->op, event->node, event->backend);
}

static void on_place(void* user, const wick_placed_step* step) {
  (void)user;
  printf("%s %s: %s %s%s%s\n", step->op, step->node, step->backend, step->kernel,
         step->why[0] != '\0' ? ", because " : "", step->why);
}

/* Makes an input of zeros; free sizes become their symbol's least, and at least 1. */
static int make_input(const wick_program* program, const wick_port* port, wick_tensor* tensor) {
  wick_symbol symbol = WICK_INIT(wick_symbol);
  size_t bytes = 0, s;
  int d;
  memset(tensor, 0, sizeof(*tensor));
  tensor->dtype = port->dtype;
  tensor->rank = port->rank < 0 ? 0 : port->rank;
  for (d = 0; d < tensor->rank; ++d) {
    tensor->dims[d] = port->dims[d];
    if (port->dims[d] >= 0) continue;
    tensor->dims[d] = 1;
    for (s = 0; s < wick_program_symbol_count(program); ++s) {
      if (wick_program_symbol(program, s, &symbol) == WICK_OK &&
          strcmp(symbol.name, port->symbols[d]) == 0 && symbol.min > 1)
        tensor->dims[d] = symbol.min;
    }
  }
  if (check(wick_tensor_bytes(tensor, &bytes))) return 1;
  tensor->data = calloc(bytes == 0 ? 1 : bytes, 1);
  return tensor->data == NULL;
}

static void* cancel_soon(void* flag) {
  const struct timespec moment = {0, 20000000};
  nanosleep(&moment, NULL);
  wick_cancel_request(flag);
  return NULL;
}

/* Runs again and again until another thread ends it. */
static int run_until_cancelled(wick_session* session, const wick_tensor* inputs, size_t count,
                               wick_tensor* outputs, size_t output_count) {
  wick_run_options options = WICK_INIT(wick_run_options);
  wick_cancel* cancel = NULL;
  pthread_t other;
  size_t i;
  int code = WICK_OK;
  if (check(wick_cancel_create(&cancel))) return 1;
  options.cancel = cancel;
  if (pthread_create(&other, NULL, cancel_soon, cancel) != 0) return 1;
  while (code == WICK_OK) {
    for (i = 0; i < output_count; ++i) outputs[i].data = NULL;
    code = wick_session_run(session, inputs, count, outputs, output_count, &options);
  }
  pthread_join(other, NULL);
  printf("ended by another thread: %s\n", wick_code_name(code));
  wick_cancel_free(cancel);
  return code != WICK_CANCELLED;
}

int main(int argc, char** argv) {
  wick_session_options open = WICK_INIT(wick_session_options);
  wick_trace_hook trace = WICK_INIT(wick_trace_hook);
  wick_explain_hook explain = WICK_INIT(wick_explain_hook);
  wick_program* program = NULL;
  wick_session* session = NULL;
  wick_port port;
  wick_tensor *in, *out;
  wick_named_tensor *named, last = {NULL, {NULL, 0, 0, {0}}};
  seen_steps seen = {0, 0};
  size_t inputs, outputs, i;
  int64_t elements = 0;
  int failed = 0;
  if (argc < 2 || argc > 3) return puts("usage: c_session MODEL.wick [DEVICE]"), 2;

  if (check(wick_program_load(argv[1], NULL, &program))) return 1;
  describe(program);
  open.backend = choose_device(argc > 2 ? argv[2] : NULL);
  trace.user = &seen;
  trace.on_step = on_step;
  trace.takes_blocks = 1; /* it reads no values */
  open.trace = &trace;
  if (check(wick_session_create(program, &open, &session))) return 1;

  inputs = wick_session_input_count(session);
  outputs = wick_session_output_count(session);
  in = calloc(inputs + 1, sizeof(*in));
  named = calloc(inputs + 1, sizeof(*named));
  out = calloc(outputs + 1, sizeof(*out));
  if (in == NULL || named == NULL || out == NULL) return 1;
  for (i = 0; i < inputs; ++i) {
    if (check(wick_session_input(session, i, &port)) || make_input(program, &port, &in[i]))
      return 1;
    named[i].name = port.name;
    named[i].tensor = in[i];
  }

  /* All outputs, in the session's memory. */
  if (check(wick_session_run(session, in, inputs, out, outputs, NULL))) return 1;
  seen.quiet = 1;
  printf("%zu trace events, %zu steps\n", seen.count, wick_session_step_count(session));
  explain.on_step = on_place;
  failed |= check(wick_session_explain(session, &explain));
  if (wick_session_left_backend(session)[0] != '\0')
    printf("the device was left: %s\n", wick_session_left_backend(session));

  /* The last output alone, by its name. */
  if (outputs > 0 && !check(wick_session_output(session, outputs - 1, &port))) {
    last.name = port.name;
    failed |= check(wick_session_run_named(session, named, inputs, &last, 1, NULL));
    failed |= check(wick_tensor_elements(&last.tensor, &elements));
    printf("%s alone: %lld elements\n", last.name, (long long)elements);
  }

  /* A run in two halves: between them this thread may do something else. */
  for (i = 0; i < outputs; ++i) out[i].data = NULL;
  failed |= check(wick_session_start(session, in, inputs, NULL));
  failed |= check(wick_session_finish(session, out, outputs));
  if (!failed) puts("started and finished");
  failed |= run_until_cancelled(session, in, inputs, out, outputs);

  for (i = 0; i < inputs; ++i) free(in[i].data);
  free(in);
  free(named);
  free(out);
  wick_session_free(session);
  wick_vulkan_free(open.backend);
  wick_program_free(program);
  return failed;
}
