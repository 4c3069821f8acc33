/* answers MODEL.wick: a user's whole program, in what C and C++ have in common. It runs a LeNet on
 * 256 images of seeded noise, in batches of 64, and writes the logits as they lie in memory: their
 * SHA-256 is one number for every way in which Wick came here (tests/install/outside.sh). */
#include <stdio.h>
#include <stdlib.h>

#ifdef WICK_BESIDE /* wick.h of an amalgamation */
#include "wick.h"
#else
#include "wick/wick.h"
#endif

enum { kImages = 256, kPixels = 784, kBatch = 64 };
static unsigned char images[kImages * kPixels];
static float logits[kBatch * 10];

int main(int argc, char** argv) {
  uint32_t state = 1;
  wick_program* program = NULL;
  wick_session* session = NULL;
  int code, i;
  if (argc != 2) return 2;
  for (i = 0; i < kImages * kPixels; ++i) {
    state = state * 1664525u + 1013904223u;
    images[i] = (unsigned char)(state >> 24);
  }
  code = wick_program_load(argv[1], NULL, &program);
  if (code == WICK_OK) code = wick_session_create(program, NULL, &session);
  for (i = 0; code == WICK_OK && i < kImages; i += kBatch) {
    wick_tensor in = {images + i * kPixels, WICK_UINT8, 4, {kBatch, 1, 28, 28}};
    wick_tensor out = {logits, WICK_FLOAT32, 2, {kBatch, 10}};
    code = wick_session_run(session, &in, 1, &out, 1, NULL);
    if (code == WICK_OK) fwrite(logits, sizeof(float), sizeof(logits) / sizeof(float), stdout);
  }
  if (code != WICK_OK) fprintf(stderr, "%s: %s\n", wick_code_name(code), wick_last_error());
  wick_session_free(session);
  wick_program_free(program);
  return code;
}
