// Wick's runtime in C++: load a .wick file, open a session, run it. Example
// (tests/docs/readme_run.cc):
//
//   auto program = wick::Program::load("net.wick");
//   if (!program.ok()) return std::puts(program.status().message()), 1;
//   auto session = wick::Session::create(**program);
//   if (!session.ok()) return std::puts(session.status().message()), 1;
//   float image[784] = {}, logits[10];
//   wick::TensorView in(image, wick::DType::kF32, {1, 1, 28, 28});
//   wick::TensorView out(logits, wick::DType::kF32, {1, 10});
//   wick::Status s = (*session)->run({&in, 1}, {&out, 1});
//   if (!s.ok()) return std::puts(s.message()), 1;
//
// Nothing throws: what can fail returns a Status or a Result (runtime/core/status.h), whose text is
// valid until the next failing call on the same thread. Shapes and strides are in elements, sizes
// in bytes. run() never allocates for the shapes it is bound to (runtime/exec/session.h).
//
// Threads: a Program may be shared by any number of threads and sessions; a Session serves one
// caller at a time, a SessionPool any number. A Program must outlive its sessions and pools, an
// Allocator all of them.
#pragma once

#include "runtime/backend/explain.h"       // for Session::explain
#include "runtime/core/packed_sequence.h"  // sequences and optionals as inputs and outputs
#include "runtime/core/string_ref.h"
#include "runtime/core/thread_pool.h"  // for SessionOptions::thread_pool
#include "runtime/exec/recurrent_state.h"
#include "runtime/exec/session.h"
#include "runtime/exec/session_pool.h"
#include "runtime/ops/op_library.h"
#include "runtime/program/program.h"
