// run_onnx MODEL.onnx INPUT.f32 EXPECTED.f32: the exported ONNX file, read back and run by Wick;
// compares every bit with the trainer's.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "wick/compile.h"
#include "wick/error.h"
#include "wick/runtime.h"

static std::vector<char> read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int main(int argc, char** argv) try {
  if (argc != 4) return std::puts("usage: run_onnx MODEL.onnx INPUT.f32 EXPECTED.f32"), 2;
  std::vector<char> input = read(argv[2]), expected = read(argv[3]);

  std::vector<uint8_t> bytes = wick::compile_program(wick::import_onnx(argv[1]));
  auto program = wick::Program::load(wick::Span<const uint8_t>(bytes));
  if (!program.ok()) return std::puts(program.status().message()), 1;
  auto session = wick::Session::create(**program);
  if (!session.ok()) return std::puts(session.status().message()), 1;
  const auto n = static_cast<int64_t>(input.size() / (28 * 28 * sizeof(float)));
  wick::TensorView in(input.data(), wick::DType::kF32, {n, 1, 28, 28}), out;
  wick::Status s = (*session)->run({&in, 1}, {&out, 1});
  if (!s.ok()) return std::puts(s.message()), 1;
  const bool same = out.nbytes() == expected.size() && n > 0 &&
                    std::memcmp(out.data, expected.data(), expected.size()) == 0;
  std::puts(same ? "ONNX: the trainer's bits" : "ONNX: DIFFERS from the trainer");
  return same ? 0 : 1;
} catch (const wick::Error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
