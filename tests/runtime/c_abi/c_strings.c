/* A user's program in C on strings: FILE.wick takes a vector of strings and gives one. */
#include <stdio.h>
#include <string.h>

#include "wick/wick.h"

static int check(int code) {
  if (code == WICK_OK) return 0;
  printf("%s: %s\n", wick_code_name(code), wick_last_error());
  return 1;
}

int main(int argc, char** argv) {
  wick_program* program = NULL;
  wick_session* session = NULL;
  const char* names[] = {"world", "", "\xC3\xA9t\xC3\xA9"};
  wick_string words[3];
  wick_tensor in = {words, WICK_STRING, 1, {3}}, out = {0};
  const wick_string* got;
  int64_t i;
  if (argc != 2) return 2;
  for (i = 0; i < 3; ++i) {
    words[i].data = names[i];
    words[i].size = strlen(names[i]);
  }
  if (check(wick_program_load(argv[1], NULL, &program))) return 1;
  if (check(wick_session_create(program, NULL, &session))) return 1;
  if (check(wick_session_run(session, &in, 1, &out, 1, NULL))) return 1;
  got = out.data; /* the session's, until the next run */
  for (i = 0; i < out.dims[0]; ++i) printf("%.*s\n", (int)got[i].size, got[i].data);
  words[1].size = 4; /* but no bytes */
  words[1].data = NULL;
  check(wick_session_run(session, &in, 1, &out, 1, NULL));
  wick_session_free(session);
  wick_program_free(program);
  return 0;
}
