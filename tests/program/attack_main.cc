// attack_wick [FILE.wick] [VALUES]: the attack on a file, or on the built-in one that uses every
// feature; VALUES other values of every byte (255: all).
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/program/attack_wick.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  int values = 255;
  std::vector<uint8_t> file = wick::test::every_feature();
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg.find_first_not_of("0123456789") == std::string::npos) {
      values = atoi(argv[i]);
      continue;
    }
    std::ifstream in(arg, std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
  }
  bool sound = wick::test::open_and_run(file);
  auto count = wick::test::attack(file, values, wick::test::open_and_run);
  bool bad = !sound || ::testing::Test::HasFailure();
  printf("%zu bytes, %lld cases, %lld still ran\n", file.size(),
         static_cast<long long>(count.cases), static_cast<long long>(count.accepted));
  printf("%lld passed, %d failed\n", static_cast<long long>(bad ? 0 : count.cases), bad ? 1 : 0);
  return bad ? 1 : 0;
}
