// A program's answers to images as one SHA-256: the same for every kernel, target and machine.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/core/sha256.h"
#include "runtime/kernels/kernel.h"
#include "wick/runtime.h"

namespace wick::test {

// Returns the digest of the first output for `count` images of 28x28 bytes in batches of `batch`;
// empty after an error, which is printed.
inline std::string outputs_sha256(const Program& program, const uint8_t* images, int64_t count,
                                  int64_t batch, Span<const KernelSet* const> kernels = {}) {
  SessionOptions options;
  options.threads = 1;
  options.kernels = kernels;
  auto session = Session::create(program, options);
  if (!session.ok()) return std::puts(session.status().message()), "";
  Sha256 sha;
  for (int64_t from = 0; from < count; from += batch) {
    const int64_t rows = std::min(batch, count - from);
    const TensorView in(const_cast<uint8_t*>(images) + from * 784, DType::kU8, {rows, 1, 28, 28});
    TensorView out;
    const Status s = (*session)->run({&in, 1}, {&out, 1});
    if (!s.ok()) return std::puts(s.message()), "";
    sha.update({static_cast<const uint8_t*>(out.data), out.nbytes()});
  }
  return sha.finish_text().text;
}

}  // namespace wick::test
