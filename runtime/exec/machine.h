// Machine describes what a session's plans are made for and run on.
#pragma once

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/pack_cache.h"
#include "runtime/core/array.h"
#include "runtime/core/edition.h"
#include "runtime/core/thread_pool.h"
#include "runtime/core/trace.h"

namespace wick {

struct Machine {
  Machine(const Program& program, Allocator& allocator, size_t max_ram, Backend* device,
          TraceHook* hook)
      : sets(allocator),
        cpu({}),
        backend(device),
        edition(program.edition()),
        trace(hook),
        cache(program, allocator, max_ram) {}

  Array<const KernelSet*> sets;
  CpuBackend cpu;
  Backend* backend;  // null: only the CPU
  Edition edition;   // the program's
  ThreadPool* pool = nullptr;
  bool owns_pool = false;
  int threads = 1;
  TraceHook* trace;
  PackCache cache;
};

}  // namespace wick
