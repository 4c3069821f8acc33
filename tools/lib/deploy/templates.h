// The files that `wick build` writes, with @WORDS@ to be filled in (project.cc).
#pragma once

namespace wick::tool {

inline constexpr const char* kHeader = R"(/* @TITLE@ for @TARGET@. Written by wick build.
 *
@PORTS@ *
 * Arrays are row-major without gaps. Codes and errors are wick.h's: 0 is done, @NAME@_error() has the text of the
 * thread's last failing call. One caller at a time; a model a thread. */
#ifndef @UPPER@_H_
#define @UPPER@_H_

#include <stddef.h>
#include <stdint.h>

#include "wick/wick.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct @NAME@ @NAME@;

/* threads: 0 is as many as there are. */
int @NAME@_open(@OPEN@@NAME@** model);
int @NAME@_run(@NAME@* model@COMMA@@PARAMETERS@);
void @NAME@_close(@NAME@* model); /* null is fine */
/* Bytes of planned memory and packed weights. */
size_t @NAME@_memory(const @NAME@* model);
const char* @NAME@_error(void);

#ifdef __cplusplus
}
#endif

#endif
)";

inline constexpr const char* kSourceHead = R"(/* Written by wick build: see @NAME@.h. */
@OWN_HEADER@

#include <stdlib.h>

struct @NAME@ {
  wick_program* program;
  wick_session* session;
};

static int open_session(@NAME@* m, int threads) {
  static const wick_dim_binding dims[] = {@DIMS@{NULL, 0}};
  wick_session_options options = WICK_INIT(wick_session_options);
  options.threads = threads;
@SET_ENTRY@  options.max_dims = dims;
  options.max_dim_count = @DIM_COUNT@;
  return wick_session_create(m->program, &options, &m->session);
}

)";

inline constexpr const char* kSourceOpenInside = R"(extern const unsigned char @NAME@_wick[];
extern const size_t @NAME@_wick_size;

int @NAME@_open(int threads, @NAME@** model) {
  @NAME@* m = (@NAME@*)calloc(1, sizeof(@NAME@));
  int code = m == NULL ? WICK_OUT_OF_MEMORY
                       : wick_program_load_memory(@NAME@_wick, @NAME@_wick_size, NULL, &m->program);
)";
inline constexpr const char* kSourceOpenBeside =
    R"(int @NAME@_open(const char* path, int threads, @NAME@** model) {
  @NAME@* m = (@NAME@*)calloc(1, sizeof(@NAME@));
  int code = m == NULL ? WICK_OUT_OF_MEMORY : wick_program_load(path, NULL, &m->program);
)";
inline constexpr const char* kSourceTail =
    R"(  if (code == WICK_OK) code = open_session(m, threads);
  if (code != WICK_OK) {
    @NAME@_close(m);
    m = NULL;
  }
  *model = m;
  return code;
}

int @NAME@_run(@NAME@* model@COMMA@@PARAMETERS@) {
  wick_tensor in[@IN_PLACES@] = {@INS@};
  wick_tensor out[@OUT_COUNT@] = {@OUTS@};
  int code = wick_session_run(model == NULL ? NULL : model->session, in, @IN_COUNT@, out,
                              @OUT_COUNT@, NULL);
@BACK@  return code;
}

void @NAME@_close(@NAME@* model) {
  if (model == NULL) return;
  wick_session_free(model->session);
  wick_program_free(model->program);
  free(model);
}

size_t @NAME@_memory(const @NAME@* model) {
  return model == NULL ? 0 : wick_session_memory(model->session);
}

const char* @NAME@_error(void) { return wick_last_error(); }
)";

inline constexpr const char* kIncbin = R"(/* Written by wick build: the bytes of @NAME@.wick. */
#if defined(__arm__)
#define WICK_SECTION .section .rodata, "a", %progbits
#else
#define WICK_SECTION .section .rodata, "a", @progbits
#endif
  WICK_SECTION
  .balign 64
  .globl @NAME@_wick
  .hidden @NAME@_wick
@NAME@_wick:
  .incbin "@NAME@.wick"
1:
  .balign 8
  .globl @NAME@_wick_size
  .hidden @NAME@_wick_size
@NAME@_wick_size:
#if defined(__LP64__)
  .quad 1b - @NAME@_wick
#else
  .long 1b - @NAME@_wick
#endif
#if defined(__arm__)
  .section .note.GNU-stack, "", %progbits
#else
  .section .note.GNU-stack, "", @progbits
#endif
)";

// A target with its own start-up code defines wick_put and wick_ram there.
inline constexpr const char* kSay = "static void say(const char* text) { fputs(text, stdout); }";
inline constexpr const char* kSayThere =
    R"(extern void wick_put(const char* text);
extern unsigned long wick_ram(void); /* the most that data, heap and stack took until now */
static void say(const char* text) { wick_put(text); })";
inline constexpr const char* kRam = "  say(\"ram \"), say_number(wick_ram()), say(\"\\n\");\n";

inline constexpr const char* kSmoke =
    R"(/* Written by wick build: runs @NAME@ on made-up inputs and compares with the answers of the machine that wrote this.
 * Exit code 0: they agree. */
#include <math.h>
#include <stdio.h>
#include <string.h>

@OWN_HEADER@

@SAY@
static void say_number(unsigned long n) {
  char text[24];
  size_t at = sizeof(text) - 1;
  text[at] = '\0';
  do text[--at] = (char)('0' + n % 10);
  while ((n /= 10) != 0);
  say(text + at);
}
/* Of a number > 0 its first three digits and the power of ten. */
static void say_real(double x) {
  int power = 0;
  if (!(x <= 1e300)) {
    say("more than 1e300");
    return;
  }
  for (; x >= 1000; x /= 10) ++power;
  for (; x < 100; x *= 10) --power;
  say_number((unsigned long)x);
  say(power < 0 ? "e-" : "e+");
  say_number((unsigned long)(power < 0 ? -power : power));
}

#define WICK_ALIGNED __attribute__((aligned(64)))

@DATA@
/* Whether float results have the same bits here (docs/numerics.md), or are close: within 1e-4 of the larger of the
 * values and 1. */
#define SAME_BITS @PROMISE@

static double element(const void* data, size_t i, size_t size) {
  float f;
  double d;
  if (size == 4) {
    memcpy(&f, (const char*)data + 4 * i, 4);
    return f;
  }
  memcpy(&d, (const char*)data + 8 * i, 8);
  return d;
}

/* size: of a float's element, 1 for all else. */
static int compare(const char* name, const void* got, const void* want, size_t bytes, size_t size) {
  size_t differ = 0, i;
  double most = 0;
  int close = size > 1;
  for (i = 0; i < bytes / size; ++i) {
    if (memcmp((const char*)got + i * size, (const char*)want + i * size, size) == 0) continue;
    ++differ;
    if (size > 1) {
      double a = element(got, i, size), b = element(want, i, size), by = fabs(a - b);
      if (by > most) most = by;
      if (!(by <= 1e-4 * fmax(1, fabs(b)))) close = 0;
    }
  }
  if (differ == 0) {
    say("equal "), say(name), say(": "), say_number((unsigned long)bytes), say(" bytes\n");
    return 1;
  }
  say(close && !SAME_BITS ? "close " : "differs "), say(name), say(": ");
  say_number((unsigned long)differ), say(" of "), say_number((unsigned long)(bytes / size)), say(" elements");
  if (most > 0) say(", at most by "), say_real(most);
  say("\n");
  return close && !SAME_BITS;
}

int main(int argc, char** argv) {
  @NAME@* model = NULL;
  int same = 1;
@CALLS@  int code = @NAME@_open(@PATH@1, &model);
  (void)argc, (void)argv, (void)compare;
  if (code == WICK_OK) code = @NAME@_run(model@ARGUMENTS@);
  if (code != WICK_OK) {
    say(wick_code_name(code)), say(": "), say(@NAME@_error()), say("\n");
    return 1;
  }
@CHECKS@  say("memory "), say_number((unsigned long)@NAME@_memory(model)), say("\n");
@RAM@  @NAME@_close(model);
  say(same ? "ok\n" : "FAILED\n");
  return same ? 0 : 1;
}
)";

inline constexpr const char* kCMake =
    R"(# @TITLE@ for @TARGET@. Written by wick build. The target `@NAME@` has the model and what runs it:
#   add_subdirectory(this folder) and target_link_libraries(app PRIVATE @NAME@)
cmake_minimum_required(VERSION 3.25)
if(NOT CMAKE_TOOLCHAIN_FILE AND NOT "@TOOLCHAIN@" STREQUAL "" AND NOT PROJECT_NAME)
  set(CMAKE_TOOLCHAIN_FILE "@TOOLCHAIN@" CACHE FILEPATH "")
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT PROJECT_NAME)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "")
endif()
project(@NAME@ LANGUAGES C CXX ASM)
set(WICK_SOURCES "@SOURCES@" CACHE PATH "the folder with Wick's runtime/")
set(WICK_RUNTIME_BUILD "" CACHE PATH "a build of runtime/ for this target; empty: it is built here")
if(NOT TARGET Wick::runtime AND WICK_RUNTIME_BUILD)
  find_package(Threads)
  include(${WICK_RUNTIME_BUILD}/wick-runtime-targets.cmake)
  include(${WICK_SOURCES}/runtime/cmake/WickSelectedOps.cmake)
elseif(NOT TARGET Wick::runtime)
  add_subdirectory(${WICK_SOURCES}/runtime wick-runtime EXCLUDE_FROM_ALL)
endif()

# Objects, so that the tables of selected kernels come before the library's.
add_library(@NAME@ OBJECT @NAME@.c @WEIGHTS@)
target_include_directories(@NAME@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if("@WEIGHTS@" MATCHES "S$")
  set_source_files_properties(@WEIGHTS@ PROPERTIES COMPILE_OPTIONS "-I${CMAKE_CURRENT_SOURCE_DIR};-Wa,-I${CMAKE_CURRENT_SOURCE_DIR}"
    OBJECT_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/@NAME@.wick)
endif()
target_compile_options(@NAME@ PRIVATE -Os -ffunction-sections -fdata-sections
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
wick_selected_ops(@NAME@
  @OPS@)
target_link_libraries(@NAME@ PUBLIC Wick::runtime)

add_executable(@NAME@_smoke smoke.c @START@)
target_compile_options(@NAME@_smoke PRIVATE -Os -ffunction-sections -fdata-sections)
target_link_libraries(@NAME@_smoke PRIVATE @NAME@ m)
target_link_options(@NAME@_smoke PRIVATE @LINK@)
# -s: stripped. Nothing here throws: without exceptions libstdc++ is not linked either.
target_link_options(@NAME@_smoke PRIVATE -s)
if(CMAKE_SYSTEM_NAME MATCHES "^(Linux|Generic)$")
  target_link_options(@NAME@_smoke PRIVATE -Wl,--gc-sections -Wl,--as-needed)
endif()
)";

inline constexpr const char* kMakefile = R"(# @TITLE@ for @TARGET@. Written by wick build.
BUILD ?= build
CMAKE ?= cmake

all:
	$(CMAKE) -S . -B $(BUILD) $(CMAKE_ARGUMENTS)
	$(CMAKE) --build $(BUILD) --target @NAME@_smoke

run: all
	@RUNNER@ $(BUILD)/@NAME@_smoke

clean:
	rm -rf $(BUILD)

.PHONY: all run clean
)";

}  // namespace wick::tool
