#include "trainer/text/tokenizer.h"

#include <algorithm>
#include <set>

namespace wick::text {
namespace {

// Returns the bytes of the valid UTF-8 sequence that s begins with (RFC 3629), or 1.
size_t sequence_length(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(0);
  const size_t n = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
  if (n > s.size()) return 1;
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 1;
  }
  // Overlong forms, surrogates, and code points beyond U+10FFFF are invalid.
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ||
      (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) {
    return 1;
  }
  return n;
}

}  // namespace

Tensor Tokenizer::encode_tensor(std::string_view text) const { return tensor(encode(text)); }

std::string Tokenizer::decode(const Tensor& tokens, Where where) const {
  if (tokens.rank(where) != 1) {
    throw_error("decode", std::string("takes tokens [n], got ") + to_text(tokens.raw_shape()).text,
                where, Code::kShapeMismatch);
  }
  return decode(std::span<const int64_t>(tokens.to(DType::kI64, where).to_vector<int64_t>(where)),
                where);
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> all;
  for (size_t i = 0; i < text.size(); i += all.back().size()) {
    all.push_back(text.substr(i, sequence_length(text.substr(i))));
  }
  return all;
}

CharTokenizer::CharTokenizer(const std::vector<std::string>& vocab) { set_vocab(vocab); }

void CharTokenizer::set_vocab(const std::vector<std::string>& list) {
  std::vector<std::string> vocab{"<UNK>"};
  std::map<std::string, int64_t, std::less<>> ids;
  for (const std::string& c : list) {
    if (characters(c).size() != 1) {
      throw Error("[CharTokenizer] '" + c + "' is not one character");
    }
    if (!ids.emplace(c, static_cast<int64_t>(vocab.size())).second) {
      throw Error("[CharTokenizer] '" + c + "' is in the vocabulary twice");
    }
    vocab.push_back(c);
  }
  vocab_ = std::move(vocab);
  ids_ = std::move(ids);
}

void CharTokenizer::build_vocab(const std::vector<std::string>& corpus) {
  std::set<std::string, std::less<>> seen;
  for (const std::string& text : corpus) {
    for (std::string_view c : characters(text)) {
      if (seen.find(c) == seen.end()) seen.emplace(c);
    }
  }
  set_vocab({seen.begin(), seen.end()});
}

Tokens CharTokenizer::encode(std::string_view text) const {
  Tokens tokens;
  for (std::string_view c : characters(text)) {
    auto at = ids_.find(c);
    tokens.push_back(at == ids_.end() ? 0 : at->second);
  }
  return tokens;
}

std::string CharTokenizer::decode(std::span<const int64_t> tokens, Where where) const {
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab_size()) {
      throw_error("CharTokenizer",
                  "token " + std::to_string(tokens[i]) + " at [" + std::to_string(i) +
                      "] is not in the vocabulary of " + std::to_string(vocab_size()),
                  where);
    }
    text += vocab_[static_cast<size_t>(tokens[i])];
  }
  return text;
}

std::unique_ptr<Tokenizer> create_tokenizer(const std::string& strategy, int64_t vocab_size,
                                            const std::vector<std::string>& corpus, Where where) {
  if (strategy == "char") {
    auto t = std::make_unique<CharTokenizer>();
    t->build_vocab(corpus);
    return t;
  }
  if (strategy == "bpe") {
    auto t = std::make_unique<BPETokenizer>();
    t->train(corpus, vocab_size, 2, where);
    return t;
  }
  throw_error("create_tokenizer", "strategy must be char or bpe, got '" + strategy + "'", where);
}

std::vector<Tokens> tokenize_dataset(const std::vector<std::string>& texts, const Tokenizer& t,
                                     int64_t max_length, Where where) {
  if (max_length < 0) throw_error("tokenize_dataset", "max_length must not be negative", where);
  std::vector<Tokens> all;
  for (const std::string& text : texts) {
    all.push_back(t.encode(text));
    if (max_length > 0 && all.back().size() > static_cast<size_t>(max_length)) {
      all.back().resize(static_cast<size_t>(max_length));
    }
  }
  return all;
}

TokenizationReport analyze_tokenization(const std::vector<std::string>& texts, const Tokenizer& t) {
  TokenizationReport r;
  r.vocab_size = t.vocab_size();
  std::set<int64_t> seen;
  size_t letters = 0, bytes = 0;
  for (const std::string& text : texts) {
    const Tokens tokens = t.encode(text);
    r.total_tokens += static_cast<int64_t>(tokens.size());
    r.max_sequence_length = std::max(r.max_sequence_length, static_cast<int64_t>(tokens.size()));
    seen.insert(tokens.begin(), tokens.end());
    letters += characters(text).size();
    bytes += text.size();
  }
  r.unique_tokens = static_cast<int64_t>(seen.size());
  if (!texts.empty()) {
    r.average_sequence_length =
        static_cast<double>(r.total_tokens) / static_cast<double>(texts.size());
  }
  if (r.total_tokens > 0) {
    r.compression_ratio = static_cast<double>(letters) / static_cast<double>(r.total_tokens);
    r.bytes_per_token = static_cast<double>(bytes) / static_cast<double>(r.total_tokens);
  }
  return r;
}

}  // namespace wick::text
