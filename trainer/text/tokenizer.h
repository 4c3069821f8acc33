// Tokenizers: text as integers, by characters or by byte pairs (Sennrich et al., 2016; on bytes as
// in GPT-2).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::text {

// Token ids.
using Tokens = std::vector<int64_t>;

// The base of tokenizers: text to token ids and back.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Returns the tokens of a text, in order.
  virtual Tokens encode(std::string_view text) const = 0;
  // Throws Error for a token outside of [0, vocab_size), and names its position.
  virtual std::string decode(std::span<const int64_t> tokens,
                             Where where = Where::current()) const = 0;
  // Returns the number of tokens.
  virtual int64_t vocab_size() const = 0;

  // Returns int64 [n].
  Tensor encode_tensor(std::string_view text) const;
  // Returns the text of int64 [n].
  std::string decode(const Tensor& tokens, Where where = Where::current()) const;
};

// Splits a UTF-8 text into characters. A byte that begins no valid sequence is a character of its
// own, so that the pieces joined give the text.
std::vector<std::string_view> characters(std::string_view text);

// One token per character. Token 0 is "<UNK>", any character that build_vocab() did not see.
class CharTokenizer : public Tokenizer {
 public:
  CharTokenizer() : CharTokenizer(std::vector<std::string>{}) {}
  // Assigns tokens 1, 2 ... in this order; a character may not occur twice.
  explicit CharTokenizer(const std::vector<std::string>& vocab);
  // Builds the vocabulary of all characters of the texts, in the order of their bytes.
  void build_vocab(const std::vector<std::string>& corpus);
  Tokens encode(std::string_view text) const override;
  using Tokenizer::decode;
  std::string decode(std::span<const int64_t> tokens,
                     Where where = Where::current()) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(vocab_.size()); }
  // Returns the characters, by token.
  const std::vector<std::string>& vocab() const { return vocab_; }

 private:
  void set_vocab(const std::vector<std::string>& characters);

  std::vector<std::string> vocab_;
  std::map<std::string, int64_t, std::less<>> ids_;
};

// Byte-pair encoding: tokens 0 to 255 are bytes, 256 + i is the result of merge i.
// decode(encode(x)) is x for any bytes. Merges stay within words: letters, digits or other signs,
// with one space before them, and runs of white space. Characters outside of ASCII count as
// letters; words longer than 128 bytes are split.
class BPETokenizer : public Tokenizer {
 public:
  // Two tokens that are merged into one.
  using Pair = std::pair<int64_t, int64_t>;

  // Learns merges until there are vocab_size tokens, or no pair is left that occurs min_frequency
  // times. Each step merges the most frequent pair; of equally frequent ones, the one with the
  // lowest tokens (first, then second). The same text always gives the same merges.
  void train(const std::vector<std::string>& corpus, int64_t vocab_size, int64_t min_frequency = 2,
             Where where = Where::current());
  void train(std::string_view text, int64_t vocab_size, int64_t min_frequency = 2,
             Where where = Where::current()) {
    train(std::vector<std::string>{std::string(text)}, vocab_size, min_frequency, where);
  }
  Tokens encode(std::string_view text) const override;
  using Tokenizer::decode;
  std::string decode(std::span<const int64_t> tokens,
                     Where where = Where::current()) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(bytes_.size()); }

  // Returns the merges in the order in which they were learned; merge i makes token 256 + i.
  const std::vector<Pair>& merges() const { return merges_; }
  // Returns the bytes of a token.
  const std::string& token(int64_t id, Where where = Where::current()) const;
  // Makes these the merges; the vocabulary follows from them. Throws Error for a pair of tokens
  // that do not exist yet.
  void set_merges(const std::vector<Pair>& merges, Where where = Where::current());

  // The format is {"type": "bpe", "version": 1, "merges": [[97, 97], ...]}.
  std::string to_json() const;
  static BPETokenizer from_json(std::string_view json, Where where = Where::current());
  // Replaces the file atomically.
  void save(const std::string& path, Where where = Where::current()) const;
  // Reads what save() wrote. Throws Error for another file.
  static BPETokenizer load(const std::string& path, Where where = Where::current());

  BPETokenizer();

 private:
  void encode_word(std::string_view word, Tokens* out) const;

  std::vector<Pair> merges_;
  std::vector<std::string> bytes_;  // the bytes of each token
  std::map<Pair, int64_t> ranks_;   // the merge number of a pair
};

// Splits a text into the words that BPETokenizer uses; joined they give the text.
std::vector<std::string_view> split_words(std::string_view text);

// strategy: "char" (the vocabulary is that of the corpus) or "bpe" (trained to vocab_size).
std::unique_ptr<Tokenizer> create_tokenizer(const std::string& strategy, int64_t vocab_size,
                                            const std::vector<std::string>& corpus,
                                            Where where = Where::current());

// Returns one list per text, truncated to max_length tokens unless that is 0.
std::vector<Tokens> tokenize_dataset(const std::vector<std::string>& texts, const Tokenizer& t,
                                     int64_t max_length = 0, Where where = Where::current());

// Statistics of the token sequences that a vocabulary gives.
struct TokenizationReport {
  // The size of the vocabulary, and over all texts the number of tokens, of different ones, and of
  // those in the longest text.
  int64_t vocab_size = 0, total_tokens = 0, unique_tokens = 0, max_sequence_length = 0;
  double average_sequence_length = 0;  // tokens of a text
  double compression_ratio = 0;        // characters per token
  double bytes_per_token = 0;          // of the texts in UTF-8
};
// Encodes all texts and counts.
TokenizationReport analyze_tokenization(const std::vector<std::string>& texts, const Tokenizer& t);

}  // namespace wick::text
