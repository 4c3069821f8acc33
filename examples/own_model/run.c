/* run_c MODEL.wick INPUT.f32 EXPECTED.f32: the model from C11. Prints the scores, and compares
 * every bit with the trainer's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wick/wick.h"

static void* read_file(const char* path, size_t* bytes) {
  FILE* f = fopen(path, "rb");
  void* data = NULL;
  long n = -1;
  if (f != NULL && fseek(f, 0, SEEK_END) == 0) n = ftell(f);
  if (n > 0 && fseek(f, 0, SEEK_SET) == 0) data = malloc((size_t)n);
  if (data != NULL) *bytes = fread(data, 1, (size_t)n, f);
  if (f != NULL) fclose(f);
  return data;
}

static int check(int code) {
  if (code == WICK_OK) return 0;
  fprintf(stderr, "%s: %s\n", wick_code_name(code), wick_last_error());
  return 1;
}

int main(int argc, char** argv) {
  wick_program* program = NULL;
  wick_session* session = NULL;
  wick_tensor in = {0}, out = {0};
  size_t input_bytes = 0, expected_bytes = 0, count, i;
  void *input, *expected;
  int same;
  if (argc != 4) return puts("usage: run_c MODEL.wick INPUT.f32 EXPECTED.f32"), 2;
  input = read_file(argv[2], &input_bytes);
  expected = read_file(argv[3], &expected_bytes);
  if (input == NULL || expected == NULL) return puts("cannot read the input or expected file"), 1;

  if (check(wick_program_load(argv[1], NULL, &program))) return 1;
  if (check(wick_session_create(program, NULL, &session))) return 1;
  in.data = input;
  in.dtype = WICK_FLOAT32;
  in.rank = 4;
  in.dims[0] = (int64_t)(input_bytes / (28 * 28 * sizeof(float)));
  in.dims[1] = 1;
  in.dims[2] = in.dims[3] = 28;
  /* out.data is null: the session lends its own memory until the next run */
  if (check(wick_session_run(session, &in, 1, &out, 1, NULL))) return 1;

  count = (size_t)(out.dims[0] * out.dims[1]);
  for (i = 0; i < count; ++i) {
    printf("%.9g%c", ((const float*)out.data)[i], (i + 1) % (size_t)out.dims[1] == 0 ? '\n' : ' ');
  }
  same = count != 0 && count * sizeof(float) == expected_bytes &&
         memcmp(out.data, expected, expected_bytes) == 0;
  puts(same ? "C: the trainer's bits" : "C: DIFFERS from the trainer");
  wick_session_free(session);
  wick_program_free(program);
  free(input);
  free(expected);
  return same ? 0 : 1;
}
