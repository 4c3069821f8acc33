#include <cstdio>

#include "wick/runtime.h"

int main() {
  auto program = wick::Program::load("net.wick");
  if (!program.ok()) return std::puts(program.status().message()), 1;
  auto session = wick::Session::create(**program);
  if (!session.ok()) return std::puts(session.status().message()), 1;
  float image[784] = {}, logits[10];
  wick::TensorView in(image, wick::DType::kF32, {1, 1, 28, 28});
  wick::TensorView out(logits, wick::DType::kF32, {1, 10});
  wick::Status s = (*session)->run({&in, 1}, {&out, 1});
  if (!s.ok()) return std::puts(s.message()), 1;
  for (float logit : logits) std::printf("%.4f ", static_cast<double>(logit));
  std::puts("");
}
