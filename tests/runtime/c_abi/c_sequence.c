/* A user's program in C that gives a sequence and walks one: c_sequence FILE.wick, whose entry
 * takes a sequence and a position, and gives that element, the length, and the sequence with the
 * element behind it. Its test compares what it prints. */
#include <stdio.h>
#include <stdlib.h>

#include "wick/wick.h"

static int check(int code) {
  if (code == WICK_OK) return 0;
  fprintf(stderr, "%s: %s\n", wick_code_name(code), wick_last_error());
  return 1;
}

int main(int argc, char** argv) {
  wick_program* program = NULL;
  wick_session* session = NULL;
  float first[2] = {1, 2}, second[3] = {3, 4, 5};
  int64_t position = -1;
  wick_tensor elements[2] = {{first, WICK_FLOAT32, 1, {2}}, {second, WICK_FLOAT32, 1, {3}}};
  wick_tensor in[2] = {{0}}, out[3] = {{0}}, element;
  size_t bytes = 0, count = 0, i;
  int64_t k;
  int code, element_type;
  void* memory;
  if (argc != 2) return 2;
  if (check(wick_program_load(argv[1], NULL, &program))) return 1;
  if (check(wick_session_create(program, NULL, &session))) return 1;
  if (check(wick_pack_bytes(elements, 2, &bytes))) return 1;
  memory = aligned_alloc(64, bytes);
  if (memory == NULL) return 1;
  element_type = wick_session_input_element(session, 0);
  code = wick_pack(WICK_SEQUENCE, element_type, elements, 2, memory, bytes, &in[0]);
  if (check(code)) return 1;
  in[1].data = &position;
  in[1].dtype = WICK_INT64;
  if (check(wick_session_run(session, in, 2, out, 3, NULL))) return 1;
  printf("length %d\n", (int)*(const int64_t*)out[1].data);
  if (check(wick_packed_count(&out[2], &count, NULL))) return 1;
  for (i = 0; i < count; ++i) {
    if (check(wick_packed_element(&out[2], i, &element))) return 1;
    printf("%s:", wick_dtype_name(element.dtype));
    for (k = 0; k < element.dims[0]; ++k) printf(" %g", ((const float*)element.data)[k]);
    printf("\n");
  }
  position = 5;
  code = wick_session_run(session, in, 2, out, 3, NULL);
  printf("%s: %s\n", wick_code_name(code), wick_last_error());
  code = wick_packed_element(&in[0], 2, &element);
  printf("%s: %s\n", wick_code_name(code), wick_last_error());
  free(memory);
  wick_session_free(session);
  wick_program_free(program);
  return 0;
}
