// What this build has of an operating system. CMake says it (runtime/cmake/WickPlatform.cmake);
// unsaid, there is a whole one.
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

// Of the calling thread. Where there is one thread only it is a plain variable: on small machines
// the linker has no place for others.
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
