// Tokenizers: decoding gives back the text, published merges, a slow trainer of the same rules,
// speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/error_of.h"
#include "tests/support/not_files.h"
#include "tests/support/temp_folder.h"
#include "tests/support/where.h"
#include "trainer/tensor/philox.h"
#include "trainer/text/tokenizer.h"

namespace wick::text {
namespace {

using test::error_of;
using testing::HasSubstr;
using Pair = BPETokenizer::Pair;
namespace fs = std::filesystem;

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}
std::string shakespeare() {
  return file_text(source_dir("/tests/data/sets/tinyshakespeare/input.txt"));
}

uint32_t draw(uint64_t seed, uint64_t i) { return philox(seed, 9, i)[0]; }

void append_utf8(std::string* s, uint32_t c) {
  const auto byte = [&](uint32_t b) { s->push_back(static_cast<char>(b)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) return byte(0xC0 | c >> 6), byte(0x80 | (c & 63));
  if (c < 0x10000) return byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 63)), byte(0x80 | (c & 63));
  byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 63)), byte(0x80 | (c >> 6 & 63));
  byte(0x80 | (c & 63));
}

// Valid UTF-8 from all planes, bytes at random, and words with much white space.
std::string fuzzed(uint64_t seed) {
  std::string s;
  const uint32_t n = draw(seed, 0) % 400, kind = draw(seed, 1) % 3;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t r = draw(seed, 2 + i);
    if (kind == 0) {
      uint32_t c = r % 4 == 0 ? r % 128 : r % 4 == 1 ? r % 0x800 : r % 0x110000;
      if (c >= 0xD800 && c < 0xE000) c = 0x4E2D;
      append_utf8(&s, c);
    } else if (kind == 1) {
      s.push_back(static_cast<char>(r));
    } else {
      s.push_back("ab the1.\n\t  "[r % 12]);
    }
  }
  return s;
}

TEST(Bpe, DecodedIsWhatWasEncoded) {
  std::vector<std::string> corpus;
  for (uint64_t seed = 0; seed < 60; ++seed) corpus.push_back(fuzzed(seed));
  BPETokenizer bytes, trained;
  trained.train(corpus, 400);
  EXPECT_GT(trained.vocab_size(), 330);
  int64_t shorter = 0, total = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const std::string s = fuzzed(seed);
    ASSERT_EQ(bytes.decode(bytes.encode(s)), s) << seed;
    const Tokens t = trained.encode(s);
    ASSERT_EQ(trained.decode(t), s) << seed;
    total += static_cast<int64_t>(s.size());
    shorter += static_cast<int64_t>(t.size());
    std::string joined;
    for (std::string_view w : split_words(s)) joined += w;
    ASSERT_EQ(joined, s);
    joined.clear();
    for (std::string_view c : characters(s)) joined += c;
    ASSERT_EQ(joined, s);
  }
  EXPECT_LT(shorter, total);
  std::string all;
  for (int b = 0; b < 256; ++b) all.push_back(static_cast<char>(b));
  EXPECT_EQ(trained.decode(trained.encode(all)), all);
  EXPECT_TRUE(trained.encode("").empty());
  EXPECT_EQ(trained.decode(trained.encode_tensor("thé tée")), "thé tée");
}

// "aaabdaaabac" -> ZabdZabac, ZYdZYac, XdXac (Gage, 1994, in Wikipedia's words).
TEST(Bpe, PublishedMergesOfGage) {
  BPETokenizer t;
  t.train("aaabdaaabac", 259);
  EXPECT_EQ(t.merges(), (std::vector<Pair>{{'a', 'a'}, {'a', 'b'}, {256, 257}}));
  EXPECT_EQ(t.encode("aaabdaaabac"), (Tokens{258, 'd', 258, 'a', 'c'}));
  EXPECT_EQ(t.token(258), "aaab");
}

// The dictionary of Sennrich et al. (2016), algorithm 1: e s, es t, l o, lo w come first.
TEST(Bpe, PublishedMergesOfSennrich) {
  std::string text;
  const std::pair<const char*, int> words[] = {
      {"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}};
  for (const auto& [word, count] : words) {
    for (int i = 0; i < count; ++i) text += std::string(word) + "\n";
  }
  BPETokenizer t;
  t.train(text, 260);
  EXPECT_EQ(t.merges(), (std::vector<Pair>{{'e', 's'}, {256, 't'}, {'l', 'o'}, {258, 'w'}}));
  EXPECT_EQ(t.encode("lowest"), (Tokens{259, 257}));
}

// The rules without the books: all pairs counted anew for every merge.
std::vector<Pair> slowly(const std::vector<std::string>& corpus, size_t merges) {
  std::vector<Tokens> words;
  for (const std::string& text : corpus) {
    for (std::string_view w : split_words(text)) {
      words.emplace_back();
      for (char c : w) words.back().push_back(static_cast<unsigned char>(c));
    }
  }
  std::vector<Pair> list;
  while (list.size() < merges) {
    std::map<Pair, int64_t> counts;
    for (const Tokens& w : words) {
      for (size_t i = 0; i + 1 < w.size(); ++i) ++counts[{w[i], w[i + 1]}];
    }
    Pair best;
    int64_t most = 1;
    for (const auto& [pair, n] : counts) {
      if (n > most) most = n, best = pair;
    }
    if (most < 2) break;
    for (Tokens& w : words) {
      Tokens next;
      for (size_t i = 0; i < w.size(); ++i) {
        const bool here = i + 1 < w.size() && Pair{w[i], w[i + 1]} == best;
        next.push_back(here ? 256 + static_cast<int64_t>(list.size()) : w[i]);
        if (here) ++i;
      }
      w = next;
    }
    list.push_back(best);
  }
  return list;
}

TEST(Bpe, MergesAreThoseOfTheSlowTrainer) {
  for (uint64_t first : {0u, 100u, 200u}) {
    std::vector<std::string> corpus;
    for (uint64_t seed = first; seed < first + 12; ++seed) corpus.push_back(fuzzed(seed));
    BPETokenizer t;
    t.train(corpus, 256 + 150);
    EXPECT_EQ(t.merges(), slowly(corpus, 150));
    // The order of the texts says nothing.
    std::reverse(corpus.begin(), corpus.end());
    BPETokenizer other;
    other.train(corpus, 256 + 150);
    EXPECT_EQ(t.merges(), other.merges());
  }
}

TEST(Bpe, StopsWhenNothingRepeats) {
  BPETokenizer t;
  t.train("abc def", 1000);
  EXPECT_TRUE(t.merges().empty());
  t.train("abc def", 300, 1);
  EXPECT_EQ(t.decode(t.encode("abc def")), "abc def");
  EXPECT_EQ(t.encode("abc def").size(), 2u);
}

TEST(Bpe, SavedAndLoaded) {
  BPETokenizer t;
  t.train("the cat sat on the mat with the hat", 270);
  const std::string path = wick::test::temp_folder() + "tokenizer.json";
  t.save(path);
  BPETokenizer again = BPETokenizer::load(path);
  EXPECT_EQ(again.merges(), t.merges());
  EXPECT_EQ(again.to_json(), t.to_json());
  EXPECT_EQ(BPETokenizer::from_json(R"({"type":"bpe","version":1,"merges":[[97,98]]})").token(256),
            "ab");
  auto refused = [](const char* json) { return error_of([&] { BPETokenizer::from_json(json); }); };
  EXPECT_THAT(refused("{"), HasSubstr("[BPETokenizer] not a tokenizer's JSON"));
  EXPECT_THAT(refused(R"({"type":"char"})"), HasSubstr("type is \"char\""));
  EXPECT_THAT(refused(R"({"type":"bpe","version":2,"merges":[]})"), HasSubstr("version is 2"));
  EXPECT_THAT(refused(R"({"type":"bpe","version":1})"), HasSubstr("merges is missing"));
  EXPECT_THAT(refused(R"({"type":"bpe","version":1,"merges":[[1]]})"), HasSubstr("merges[0]"));
  EXPECT_THAT(refused(R"({"type":"bpe","version":1,"merges":[[1,256]]})"), HasSubstr("0 to 255"));
  EXPECT_THAT(refused(R"({"type":"bpe","version":1,"merges":[[1,2],[1,2]]})"), HasSubstr("twice"));
  // Doubling eight times: more than a word has.
  EXPECT_THAT(refused(R"({"type":"bpe","version":1,"merges":[[1,1],[256,256],[257,257],[258,258],
                         [259,259],[260,260],[261,261],[262,262]]})"),
              HasSubstr("merge 7 makes a token of more than 128 bytes"));
  EXPECT_THAT(error_of([&] { BPETokenizer::load(path + ".none"); }), HasSubstr("cannot read"));
  for (const auto& [file, refusal] : test::NotFiles(".json"))
    EXPECT_THAT(error_of([&] { BPETokenizer::load(file); }), HasSubstr(refusal));
  EXPECT_THAT(error_of([&] { t.save("/nowhere/at/all.json"); }), HasSubstr("[BPETokenizer]"));
  fs::remove(path);
}

TEST(Bpe, RefusesWhatIsNoToken) {
  BPETokenizer t;
  const Tokens tokens{65, 256};
  EXPECT_THAT(error_of([&] { t.decode(tokens); }),
              testing::AllOf(HasSubstr("token 256 at [1]"), HasSubstr("text_test.cc:")));
  EXPECT_THAT(error_of([&] { t.token(-1); }), HasSubstr("token -1"));
  EXPECT_THAT(error_of([&] { t.train("a", 255); }), HasSubstr("got 255"));
  EXPECT_THAT(error_of([&] { t.train("a", 300, 0); }), HasSubstr("min_frequency"));
}

// Seconds are asserted only in the part `timing` of the full run.
TEST(Bpe, AThousandMergesOfAMegabyte) {
  std::string text = shakespeare();
  ASSERT_FALSE(text.empty());
  for (uint64_t i = 0; text.size() < 1100000; ++i) {             // made-up words follow
    const uint32_t word = draw(1, i) % (1 + draw(2, i) % 4000);  // few are frequent
    for (uint32_t k = 0; k < 3 + word % 6; ++k) {
      text.push_back(static_cast<char>('a' + draw(word, k) % 26));
    }
    text.push_back(' ');
  }
  auto seconds = [](const auto& f) {
    auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  BPETokenizer t;
  Tokens tokens;
  const double train = seconds([&] { t.train(text, 256 + 1000); });
  const double encode = seconds([&] { tokens = t.encode(text); });
  std::string back;
  const double decode = seconds([&] { back = t.decode(tokens); });
  EXPECT_EQ(back, text);
  EXPECT_EQ(t.vocab_size(), 1256);
  std::printf(
      "BPE: %.2f MB, 1000 merges in %.2f s; encode %.3f s, decode %.3f s; %.2f bytes/token\n",
      static_cast<double>(text.size()) / 1e6, train, encode, decode,
      static_cast<double>(text.size()) / static_cast<double>(tokens.size()));
  if (getenv("WICK_TEST_FULL") == nullptr) return;
  EXPECT_LT(train, 20);
}

TEST(Char, WholeCharactersAndBytesThatAreNone) {
  CharTokenizer t;
  const std::string text = "héllo wörld \xE4\xB8\xAD\xF0\x9F\x98\x80 \xFF\xC3";
  t.build_vocab({text, "z"});
  EXPECT_EQ(t.decode(t.encode(text)), text);
  EXPECT_EQ(t.vocab()[0], "<UNK>");
  EXPECT_EQ(t.vocab_size(), 1 + 14);  // 7 ASCII with the space, z, é, ö, two signs, two bytes
  EXPECT_EQ(t.encode("zq"), (Tokens{t.encode("z")[0], 0}));
  EXPECT_EQ(t.decode(t.encode("q")), "<UNK>");
  EXPECT_TRUE(std::is_sorted(t.vocab().begin() + 1, t.vocab().end()));
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::string s = fuzzed(seed);
    CharTokenizer own;
    own.build_vocab({s});
    ASSERT_EQ(own.decode(own.encode(s)), s) << seed;
  }
  EXPECT_EQ(CharTokenizer({"b", "a"}).encode("ab"), (Tokens{2, 1}));
  EXPECT_THAT(error_of([] { CharTokenizer({"a", "a"}); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([] { CharTokenizer({"ab"}); }), HasSubstr("not one character"));
  const Tokens wrong{-1};
  EXPECT_THAT(error_of([&] { t.decode(wrong); }), HasSubstr("token -1 at [0]"));
}

TEST(Tokenization, AnalysedAndCut) {
  const std::vector<std::string> texts{"banana banana", "ban", ""};
  auto by_char = create_tokenizer("char", 0, texts), by_pair = create_tokenizer("bpe", 260, texts);
  TokenizationReport c = analyze_tokenization(texts, *by_char),
                     b = analyze_tokenization(texts, *by_pair);
  EXPECT_EQ(c.vocab_size, 5);
  EXPECT_EQ(c.total_tokens, 16);
  EXPECT_EQ(c.max_sequence_length, 13);
  EXPECT_EQ(c.unique_tokens, 4);
  EXPECT_DOUBLE_EQ(c.average_sequence_length, 16.0 / 3);
  EXPECT_DOUBLE_EQ(c.compression_ratio, 1);
  // A larger vocabulary makes shorter sequences.
  EXPECT_GT(b.vocab_size, c.vocab_size);
  EXPECT_LT(b.total_tokens, c.total_tokens);
  EXPECT_DOUBLE_EQ(b.compression_ratio, 16.0 / static_cast<double>(b.total_tokens));
  std::vector<Tokens> cut = tokenize_dataset(texts, *by_char, 5);
  EXPECT_EQ(cut[0].size(), 5u);
  EXPECT_EQ(cut[1].size(), 3u);
  EXPECT_TRUE(cut[2].empty());
  EXPECT_EQ(tokenize_dataset(texts, *by_char)[0].size(), 13u);
  EXPECT_THAT(error_of([&] { tokenize_dataset(texts, *by_char, -1); }), HasSubstr("max_length"));
  EXPECT_THAT(error_of([&] { create_tokenizer("word", 9, texts); }), HasSubstr("'word'"));
  EXPECT_EQ(analyze_tokenization({}, *by_char).total_tokens, 0);
}

}  // namespace
}  // namespace wick::text
