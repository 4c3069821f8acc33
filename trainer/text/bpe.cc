#include <algorithm>
#include <limits>
#include <unordered_map>

#include "runtime/core/atomic_file.h"
#include "runtime/core/regular_file.h"
#include "trainer/checkpoint/json.h"
#include "trainer/text/tokenizer.h"

namespace wick::text {
namespace {

constexpr size_t kLongestWord = 128;

enum class Sign : uint8_t { kSpace, kLetter, kDigit, kOther };
Sign sign_of(char c) {
  const auto b = static_cast<unsigned char>(c);
  if (b == ' ' || (b >= '\t' && b <= '\r')) return Sign::kSpace;
  if ((b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || b >= 0x80) return Sign::kLetter;
  return b >= '0' && b <= '9' ? Sign::kDigit : Sign::kOther;
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t i = 0; i < text.size(); i += words.back().size()) {
    size_t end = i;
    if (sign_of(text[i]) == Sign::kSpace) {
      while (end < text.size() && sign_of(text[end]) == Sign::kSpace) ++end;
      // The last space of a run belongs to the word after it.
      const bool word_follows = end < text.size() && text[end - 1] == ' ';
      if (word_follows && end - i > 1) {
        --end;
      } else if (word_follows) {
        const Sign kind = sign_of(text[i + 1]);
        end = i + 1;
        while (end < text.size() && sign_of(text[end]) == kind) ++end;
      }
    } else {
      const Sign kind = sign_of(text[i]);
      while (end < text.size() && sign_of(text[end]) == kind) ++end;
    }
    words.push_back(text.substr(i, std::min(end - i, kLongestWord)));
  }
  return words;
}

BPETokenizer::BPETokenizer() {
  for (int b = 0; b < 256; ++b) bytes_.emplace_back(1, static_cast<char>(b));
}

void BPETokenizer::set_merges(const std::vector<Pair>& merges, Where where) {
  BPETokenizer t;
  for (const Pair& m : merges) {
    const int64_t known = t.vocab_size();
    if (m.first < 0 || m.second < 0 || m.first >= known || m.second >= known) {
      throw_error("BPETokenizer",
                  "merge " + std::to_string(t.merges_.size()) + " joins [" +
                      std::to_string(m.first) + ", " + std::to_string(m.second) +
                      "]: there are tokens 0 to " + std::to_string(known - 1),
                  where);
    }
    if (!t.ranks_.emplace(m, static_cast<int64_t>(t.merges_.size())).second) {
      throw_error("BPETokenizer", "merge " + std::to_string(t.merges_.size()) + " is there twice",
                  where);
    }
    std::string joined = t.bytes_[static_cast<size_t>(m.first)];
    joined += t.bytes_[static_cast<size_t>(m.second)];
    if (joined.size() > kLongestWord) {
      throw_error("BPETokenizer",
                  "merge " + std::to_string(t.merges_.size()) + " makes a token of more than " +
                      std::to_string(kLongestWord) + " bytes",
                  where);
    }
    t.bytes_.push_back(std::move(joined));
    t.merges_.push_back(m);
  }
  *this = std::move(t);
}

// Applies the earliest merge first, at every place where it fits, until no merge fits.
void BPETokenizer::encode_word(std::string_view word, Tokens* out) const {
  const size_t begin = out->size();
  for (char c : word) out->push_back(static_cast<unsigned char>(c));
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  for (;;) {
    int64_t best = kNone;
    for (size_t i = begin; i + 1 < out->size(); ++i) {
      auto at = ranks_.find({(*out)[i], (*out)[i + 1]});
      if (at != ranks_.end()) best = std::min(best, at->second);
    }
    if (best == kNone) return;
    const Pair& pair = merges_[static_cast<size_t>(best)];
    size_t to = begin;
    for (size_t i = begin; i < out->size(); ++i) {
      const bool here =
          i + 1 < out->size() && (*out)[i] == pair.first && (*out)[i + 1] == pair.second;
      (*out)[to++] = here ? 256 + best : (*out)[i];
      if (here) ++i;
    }
    out->resize(to);
  }
}

Tokens BPETokenizer::encode(std::string_view text) const {
  Tokens tokens;
  // Maps a word to the place of its tokens at its first occurrence.
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> known;
  for (std::string_view word : split_words(text)) {
    const size_t begin = tokens.size();
    auto at = known.find(word);
    if (at == known.end()) {
      encode_word(word, &tokens);
      known.emplace(word, std::pair(begin, tokens.size()));
    } else {
      for (size_t i = at->second.first; i < at->second.second; ++i) tokens.push_back(tokens[i]);
    }
  }
  return tokens;
}

std::string BPETokenizer::decode(std::span<const int64_t> tokens, Where where) const {
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab_size()) {
      throw_error("BPETokenizer",
                  "token " + std::to_string(tokens[i]) + " at [" + std::to_string(i) +
                      "] is not in the vocabulary of " + std::to_string(vocab_size()),
                  where);
    }
    text += bytes_[static_cast<size_t>(tokens[i])];
  }
  return text;
}

const std::string& BPETokenizer::token(int64_t id, Where where) const {
  if (id < 0 || id >= vocab_size()) {
    throw_error("BPETokenizer",
                "token " + std::to_string(id) + " is not in the vocabulary of " +
                    std::to_string(vocab_size()),
                where);
  }
  return bytes_[static_cast<size_t>(id)];
}

std::string BPETokenizer::to_json() const {
  JsonWriter json;
  json.open('{').field("type", "bpe").field("version", 1).key("merges").open('[');
  for (const auto& [a, b] : merges_) json.open('[').value(a).value(b).close();
  return json.close().close().done();
}

BPETokenizer BPETokenizer::from_json(std::string_view text, Where where) {
  std::vector<Pair> merges;
  try {
    const nlohmann::json tree = read_json(text, "not a tokenizer's JSON");
    const JsonPlace json(tree, "not a tokenizer's JSON");
    if (json.at("type").value() != "bpe") json.at("type").refuse("'bpe'");
    (void)json.at("version").integer(1, 1);
    const JsonPlace list = json.at("merges");
    for (size_t i = 0; i < list.size(); ++i) {
      const JsonPlace merge = list.at(i);
      if (merge.size() != 2) merge.refuse("a list of two whole numbers");
      merges.emplace_back(merge.at(size_t{0}).integer(0, kMaxJsonCount),
                          merge.at(1).integer(0, kMaxJsonCount));
    }
  } catch (const JsonError& e) {
    throw_error("BPETokenizer", e.what(), where);
  }
  BPETokenizer t;
  t.set_merges(merges, where);
  return t;
}

void BPETokenizer::save(const std::string& path, Where where) const {
  const std::string text = to_json() + "\n";
  check_status("BPETokenizer", write_file_atomically(path.c_str(), text.data(), text.size()),
               where);
}

BPETokenizer BPETokenizer::load(const std::string& path, Where where) {
  std::string text;
  const Status read = read_regular_file(path.c_str(), &text);
  check_status("BPETokenizer", annotate(read, "cannot read the tokenizer: "), where);
  return from_json(text, where);
}

}  // namespace wick::text
