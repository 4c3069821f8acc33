// Tells which parts of an operating system this build has. CMake defines them
// (runtime/cmake/WickPlatform.cmake); without definitions all are present.
#pragma once

#ifndef WICK_HAS_FILES
#define WICK_HAS_FILES 1
#endif
#ifndef WICK_HAS_THREADS
#define WICK_HAS_THREADS 1
#endif
#ifndef WICK_HAS_LIBRARIES
#define WICK_HAS_LIBRARIES 1
#endif

// Declares a per-thread variable. Where there is only one thread it is a plain variable: on small
// machines the linker has no section for thread-local ones.
#if WICK_HAS_THREADS
#define WICK_THREAD_LOCAL thread_local
#else
#define WICK_THREAD_LOCAL
#endif

namespace wick::platform {

constexpr bool kHasFiles = WICK_HAS_FILES != 0;
constexpr bool kHasThreads = WICK_HAS_THREADS != 0;
constexpr bool kHasLibraries = WICK_HAS_LIBRARIES != 0;

}  // namespace wick::platform
