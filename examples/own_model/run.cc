// run_cpp MODEL.wick INPUT.f32 EXPECTED.f32: runs the model from C++ without linking the trainer.
// Prints the scores, and compares every bit with the trainer's.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "wick/runtime.h"

static std::vector<char> read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int main(int argc, char** argv) {
  if (argc != 4) return std::puts("usage: run_cpp MODEL.wick INPUT.f32 EXPECTED.f32"), 2;
  std::vector<char> input = read(argv[2]), expected = read(argv[3]);

  auto program = wick::Program::load(argv[1]);
  if (!program.ok()) return std::puts(program.status().message()), 1;
  auto session = wick::Session::create(**program);
  if (!session.ok()) return std::puts(session.status().message()), 1;

  const auto n = static_cast<int64_t>(input.size() / (28 * 28 * sizeof(float)));
  wick::TensorView in(input.data(), wick::DType::kF32, {n, 1, 28, 28});
  wick::TensorView out;  // no data: the session's own memory is borrowed until the next run
  wick::Status s = (*session)->run({&in, 1}, {&out, 1});
  if (!s.ok()) return std::puts(s.message()), 1;

  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < out.dim(1); ++k) {
      std::printf("%s%.9g", k == 0 ? "" : " ", out.as<float>()[i * out.dim(1) + k]);
    }
    std::printf("\n");
  }
  const bool same = out.nbytes() == expected.size() && n > 0 &&
                    std::memcmp(out.data, expected.data(), expected.size()) == 0;
  std::puts(same ? "C++: the trainer's bits" : "C++: DIFFERS from the trainer");
  return same ? 0 : 1;
}
