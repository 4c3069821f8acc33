#include "tests/fuzz/byte_mutate.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace wick::fuzz {
namespace {

constexpr size_t kLongest = 1 << 16;

void number(std::string& s, size_t at, Dice& dice) {
  const uint64_t of[] = {0,
                         1,
                         2,
                         0x7F,
                         0x80,
                         0xFF,
                         0x7FFF,
                         0x8000,
                         0xFFFF,
                         0x7FFFFFFF,
                         0x80000000,
                         0xFFFFFFFF,
                         uint64_t{1} << 32,
                         uint64_t{1} << 40,
                         INT64_MAX,
                         uint64_t{1} << 63,
                         UINT64_MAX,
                         s.size(),
                         s.size() + 1,
                         s.size() - 8};
  uint64_t v = dice.of(of);
  const size_t bytes = size_t{1} << (1 + dice.below(3));
  if (dice.one_in(3)) v = __builtin_bswap64(v) >> (64 - 8 * bytes);
  memcpy(s.data() + at, &v, std::min(bytes, s.size() - at));
}

// The number in text at or behind a place becomes another one.
void digits(std::string& s, size_t at, Dice& dice) {
  while (at < s.size() && isdigit(static_cast<unsigned char>(s[at])) == 0) ++at;
  size_t end = at;
  while (end < s.size() && isdigit(static_cast<unsigned char>(s[end])) != 0) ++end;
  if (at == end) return;
  const char* const of[] = {"0",
                            "1",
                            "-1",
                            "2",
                            "7",
                            "255",
                            "256",
                            "65536",
                            "2147483647",
                            "2147483648",
                            "4294967296",
                            "9223372036854775807",
                            "9223372036854775808",
                            "18446744073709551615",
                            "-9223372036854775808",
                            "1e999",
                            "1e30",
                            "0.5",
                            "nan",
                            "99999999999999999999999999"};
  s.replace(at, end - at, dice.of(of));
}

void change(std::string& s, const std::string& other, const std::vector<std::string>& words,
            Dice& dice) {
  const size_t at = dice.below(s.size());
  const size_t few = 1 + dice.below(dice.one_in(4) ? size_t{300} : size_t{12});
  switch (dice.below(11)) {
    case 0: s[at] = static_cast<char>(s[at] ^ (1 << dice.below(8))); return;
    case 1: s[at] = static_cast<char>(dice.next()); return;
    case 2: return number(s, at, dice);
    case 3:
    case 4: return digits(s, at, dice);
    case 5: s.erase(at, few); return;
    case 6: s.insert(at, s.substr(dice.below(s.size()), few)); return;
    case 7:
      if (dice.one_in(3)) s.resize(at);
      return;
    case 8:
      if (!other.empty()) s.replace(at, few, other.substr(dice.below(other.size()), few));
      return;
    default: {
      if (words.empty()) return;
      const std::string& word = dice.of(words);
      if (dice.one_in(2))
        s.insert(at, word);
      else
        s.replace(at, word.size(), word);
    }
  }
}

}  // namespace

void mutate_bytes(std::string& bytes, const std::string& other,
                  const std::vector<std::string>& words, Dice& dice) {
  for (int k = dice.below(6); k >= 0 && !bytes.empty(); --k) change(bytes, other, words, dice);
  // The same thing very often: nesting, and counts.
  if (dice.one_in(40) && !words.empty()) {
    const std::string& word = dice.of(words);
    std::string many;
    for (size_t n = size_t{1} << dice.below(13); n > 0 && many.size() < kLongest; --n) many += word;
    bytes.insert(dice.below(bytes.size() + 1), many);
  }
  if (bytes.size() > kLongest) bytes.resize(kLongest);
}

}  // namespace wick::fuzz
