/* Opens a wheel's library as Python does and runs a model on zeros: smoke LIBRARY MODEL.wick. For
 * machines whose Python is not here (tools/scripts/wheels.sh). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "wick/wick.h"

static void* library;
static void* find(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "no %s\n", name);
    exit(1);
  }
  return found;
}
#define CALL(name) ((__typeof__(&name))find(#name))

int main(int argc, char** argv) {
  wick_program* program = NULL;
  wick_session* session = NULL;
  wick_tensor in[8], out[8] = {{0}};
  size_t inputs, outputs, i, k;
  if (argc != 3) return 2;
  library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  if (CALL(wick_program_load)(argv[2], NULL, &program) != WICK_OK ||
      CALL(wick_session_create)(program, NULL, &session) != WICK_OK) {
    fprintf(stderr, "%s\n", CALL(wick_last_error)());
    return 1;
  }
  inputs = CALL(wick_session_input_count)(session);
  outputs = CALL(wick_session_output_count)(session);
  if (inputs > 8 || outputs > 8) return 1;
  for (i = 0; i < inputs; ++i) {
    wick_port port;
    size_t count = 1;
    CALL(wick_session_input)(session, i, &port);
    in[i].dtype = port.dtype;
    in[i].rank = port.rank;
    for (k = 0; k < (size_t)port.rank; ++k) {
      in[i].dims[k] = port.dims[k] < 0 ? 1 : port.dims[k];
      count *= (size_t)in[i].dims[k];
    }
    in[i].data = calloc(count, 16);
  }
  if (CALL(wick_session_run)(session, in, inputs, out, outputs, NULL) != WICK_OK) {
    fprintf(stderr, "%s\n", CALL(wick_last_error)());
    return 1;
  }
  printf("wick %s ran %zu outputs\n", CALL(wick_version)(), outputs);
  for (i = 0; i < inputs; ++i) free(in[i].data);
  CALL(wick_session_free)(session);
  CALL(wick_program_free)(program);
  return 0;
}
