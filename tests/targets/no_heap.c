/* A program without a heap: the C library's allocation is not there (the linker script has no room
 * for it), and all that the runtime takes comes from a static array by wick_allocator. Compiled
 * with the folder that `wick build` wrote for LeNet's MODEL (its symbol without _wick): the inputs
 * and answers are those of its smoke.c. */
#define main smoke_main
#include "smoke.c"
#undef main

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
extern const unsigned char JOIN(MODEL, _wick)[];
extern const size_t JOIN(MODEL, _wick_size);

static unsigned char memory[ROOM] WICK_ALIGNED;
static size_t used, most;

static void* take(void* user, size_t bytes, size_t align) {
  size_t at = (used + align - 1) / align * align;
  (void)user;
  if (at > sizeof(memory) || bytes > sizeof(memory) - at) return NULL;
  used = at + bytes;
  if (used > most) most = used;
  return memory + at;
}
/* What was taken last is free again. */
static void give(void* user, void* p, size_t bytes, size_t align) {
  (void)user, (void)align;
  if (p == memory + used - bytes) used -= bytes;
}

int main(void) {
  const wick_allocator allocator = {NULL, take, give};
  const wick_dim_binding batch = {"batch", 1};
  wick_load_options load = WICK_INIT(wick_load_options);
  wick_session_options options = WICK_INIT(wick_session_options);
  wick_tensor in = {0}, out = {0};
  wick_program* program = NULL;
  wick_session* session = NULL;
  int code;
  (void)smoke_main;
  load.allocator = allocator;
  options.max_dims = &batch;
  options.max_dim_count = 1;
  in.data = (void*)(size_t)in_0;
  in.dtype = WICK_UINT8;
  in.rank = 4;
  in.dims[0] = in.dims[1] = 1;
  in.dims[2] = in.dims[3] = 28;
  code = wick_program_load_memory(JOIN(MODEL, _wick), JOIN(MODEL, _wick_size), &load, &program);
  if (code == WICK_OK) code = wick_session_create(program, &options, &session);
  if (code == WICK_OK) code = wick_session_run(session, &in, 1, &out, 1, NULL);
  if (code != WICK_OK) {
    say(wick_code_name(code)), say("\n");
    return 1;
  }
  if (memcmp(out.data, want_0, sizeof(want_0)) != 0) {
    say("other answers\n");
    return 1;
  }
  say("static "), say_number((unsigned long)most), say(" bytes\nok\n");
  wick_session_free(session);
  wick_program_free(program);
  return 0;
}
