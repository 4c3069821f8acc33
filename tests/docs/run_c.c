#include <stdio.h>

#include "wick/wick.h"

int main(void) {
  float image[784] = {0}, logits[10];
  wick_tensor in = {image, WICK_FLOAT32, 4, {1, 1, 28, 28}};
  wick_tensor out = {logits, WICK_FLOAT32, 2, {1, 10}};
  wick_program* program = NULL;
  wick_session* session = NULL;
  int code = wick_program_load("net.wick", NULL, &program);
  if (code == WICK_OK) code = wick_session_create(program, NULL, &session);
  if (code == WICK_OK) code = wick_session_run(session, &in, 1, &out, 1, NULL);
  if (code != WICK_OK) fprintf(stderr, "%s: %s\n", wick_code_name(code), wick_last_error());
  for (int i = 0; code == WICK_OK && i < 10; ++i) printf("%.4f ", (double)logits[i]);
  puts("");
  wick_session_free(session);
  wick_program_free(program);
  return code;
}
