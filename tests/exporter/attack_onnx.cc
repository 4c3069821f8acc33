// attack_onnx [VALUES]: the attack on the built-in ONNX model, VALUES other values of every byte (255: all). For
// the sanitizer builds of the full test run.
#include "tests/exporter/attack_onnx.h"

#include <cstdlib>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  int values = argc > 1 ? atoi(argv[1]) : 255;
  std::vector<uint8_t> file = wick::test::every_onnx_feature();
  bool sound = wick::test::compile_and_run(file);
  auto count = wick::test::attack(file, values, wick::test::compile_and_run);
  bool bad = !sound || ::testing::Test::HasFailure();
  printf("%zu bytes, %lld cases, %lld still ran\n", file.size(), static_cast<long long>(count.cases),
         static_cast<long long>(count.accepted));
  printf("%lld passed, %d failed\n", static_cast<long long>(bad ? 0 : count.cases), bad ? 1 : 0);
  return bad ? 1 : 0;
}
