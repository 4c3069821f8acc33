// The attack on a format: every truncation of a file, and other values of every byte, each opened
// in process under a budget and a time limit. An error or a valid model is fine; a crash, a hang or
// memory beyond the budget is not.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

namespace wick::test {

struct AttackCount {
  int64_t cases = 0, accepted = 0;
};

// generous: sanitizers, a busy machine. SIGALRM ends the process
constexpr unsigned kSecondsPerCase = 60;

// `open(bytes)` tries one file; true when it was accepted. `values`: other values tried for each
// byte (255: all).
inline AttackCount attack(const std::vector<uint8_t>& file, int values,
                          const std::function<bool(const std::vector<uint8_t>&)>& open) {
  AttackCount count;
  auto one = [&](const std::vector<uint8_t>& bytes) {
    alarm(kSecondsPerCase);
    ++count.cases;
    count.accepted += open(bytes) ? 1 : 0;
  };
  for (size_t n = 0; n < file.size(); ++n)
    one(std::vector<uint8_t>(file.begin(), file.begin() + static_cast<long>(n)));
  std::vector<uint8_t> bytes = file;
  // 5 of 255: one bit, all bits, the sign bit, one up, one down
  const uint8_t some[5] = {0x01, 0xFF, 0x80, 0x02, 0x10};
  for (size_t i = 0; i < file.size(); ++i) {
    for (int k = 0; k < values; ++k) {
      bytes[i] = static_cast<uint8_t>(file[i] ^ (values < 255 ? some[k % 5] : k + 1));
      one(bytes);
    }
    bytes[i] = file[i];
  }
  alarm(0);
  return count;
}

}  // namespace wick::test
