// Wick's runtime in C++: load a .wick file, open a session, run it. No exceptions; errors are
// Status / Result.
//
//   auto program = wick::Program::load("model.wick");
//   if (!program.ok()) { puts(program.status().message()); return 1; }
//   auto session = wick::Session::create(**program);
//   float image[784], logits[10];
//   wick::TensorView in(image, wick::DType::kF32, {1, 1, 28, 28}), out(logits, wick::DType::kF32,
//   {1, 10}); wick::Status s = (*session)->run({&in, 1}, {&out, 1});
//
// Threads: a Program may be shared by any number of threads and sessions; a Session serves one
// caller at a time.
#pragma once

#include "runtime/exec/session.h"
#include "runtime/program/program.h"
