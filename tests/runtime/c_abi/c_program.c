/* A user's program in C: run_model FILE.wick loads, runs on 1, 2, 3 ... and prints the outputs. Its
 * test compares what it prints. */
#include <stdio.h>
#include <stdlib.h>

#include "wick/wick.h"

static int logged = 0;
static void on_log(void* user, int code, const char* message) {
  (void)user;
  (void)code;
  (void)message;
  ++logged;
}

static int check(int code) {
  if (code == WICK_OK) return 0;
  fprintf(stderr, "%s: %s\n", wick_code_name(code), wick_last_error());
  return 1;
}

int main(int argc, char** argv) {
  wick_program* program = NULL;
  wick_session* session = NULL;
  wick_load_options load = WICK_INIT(wick_load_options);
  wick_session_options open = WICK_INIT(wick_session_options);
  wick_run_options run = WICK_INIT(wick_run_options);
  wick_port port;
  wick_tensor in = {0}, out[2] = {{0}};
  float* x;
  int64_t n = 1, k;
  int i;
  if (argc != 2) return 2;
  load.log = on_log;
  if (check(wick_program_load(argv[1], &load, &program))) return 1;
  open.threads = 2;
  if (check(wick_session_create(program, &open, &session))) return 1;
  if (check(wick_session_input(session, 0, &port))) return 1;
  in.dtype = port.dtype;
  in.rank = port.rank;
  for (i = 0; i < port.rank; ++i) {
    in.dims[i] = port.dims[i] < 0 ? 2 : port.dims[i];
    n *= in.dims[i];
  }
  x = malloc((size_t)n * sizeof(float));
  for (k = 0; k < n; ++k) x[k] = (float)(k + 1);
  in.data = x;
  run.timeout_ns = 60000000000u;
  if (wick_session_output_count(session) != 2) return 1;
  if (check(wick_session_run(session, &in, 1, out, 2, &run))) return 1;
  printf("%s[%d]:", port.name, (int)in.dims[0]);
  for (k = 0; k < out[0].dims[0]; ++k) printf(" %g", ((const float*)out[0].data)[k]);
  printf("\nlabels: %zu, %s\n", wick_program_label_count(program), wick_program_label(program, 0));
  /* an error: text, log, nothing to clean up */
  in.dims[1] = 4;
  i = wick_session_run(session, &in, 1, out, 2, NULL);
  printf("%s: %s\nlogged: %d\n", wick_code_name(i), wick_last_error(), logged);
  free(x);
  wick_session_free(session);
  wick_program_free(program);
  return 0;
}
