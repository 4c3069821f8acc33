// Training keeps, for each pair, its count and the words that contain it, so that a merge rewrites
// only those words.
#include <algorithm>
#include <queue>
#include <unordered_map>

#include "trainer/text/tokenizer.h"

namespace wick::text {
namespace {

using Pair = BPETokenizer::Pair;

struct Word {
  std::vector<int32_t> tokens;
  int64_t count;
};
struct Place {
  int64_t count = 0;
  std::vector<uint32_t> words;  // ascending; may list words that no longer have the pair
};
uint64_t key_of(int32_t a, int32_t b) {
  return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
}

// A candidate for the next merge: the largest count comes first, then the smallest pair. If a count
// has changed since, the candidate is inserted again.
struct Candidate {
  int64_t count;
  uint64_t key;
  bool operator<(const Candidate& o) const {
    return count != o.count ? count < o.count : key > o.key;
  }
};

class Training {
 public:
  explicit Training(const std::vector<std::string>& corpus) {
    std::unordered_map<std::string_view, size_t> index;
    for (const std::string& text : corpus) {
      for (std::string_view word : split_words(text)) {
        auto [at, fresh] = index.emplace(word, words_.size());
        if (fresh) {
          words_.push_back({{}, 0});
          for (char c : word) words_.back().tokens.push_back(static_cast<unsigned char>(c));
        }
        ++words_[at->second].count;
      }
    }
    for (uint32_t w = 0; w < words_.size(); ++w) {
      const std::vector<int32_t>& t = words_[w].tokens;
      for (size_t i = 0; i + 1 < t.size(); ++i) add(t[i], t[i + 1], w);
    }
    for (const auto& [key, place] : pairs_) queue_.push({place.count, key});
  }

  // Finds the next merge; returns false if no pair occurs `least` times.
  bool next(int64_t least, int32_t token, Pair* merge) {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      queue_.pop();
      auto at = pairs_.find(top.key);
      const int64_t now = at == pairs_.end() ? 0 : at->second.count;
      if (now != top.count) {
        if (now > 0 && now < top.count) queue_.push({now, top.key});
        continue;
      }
      if (now < least) return false;
      const auto a = static_cast<int32_t>(top.key >> 32), b = static_cast<int32_t>(top.key);
      const std::vector<uint32_t> where = std::move(at->second.words);
      pairs_.erase(at);
      for (uint32_t w : where) rewrite(w, a, b, token);
      std::sort(changed_.begin(), changed_.end());
      changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
      for (uint64_t key : changed_) queue_.push({pairs_[key].count, key});
      changed_.clear();
      *merge = {a, b};
      return true;
    }
    return false;
  }

 private:
  void add(int32_t a, int32_t b, uint32_t word) {
    Place& p = pairs_[key_of(a, b)];
    p.count += words_[word].count;
    if (p.words.empty() || p.words.back() != word) p.words.push_back(word);
  }
  void rewrite(uint32_t w, int32_t a, int32_t b, int32_t token) {
    std::vector<int32_t>& t = words_[w].tokens;
    bool here = false;
    for (size_t i = 0; !here && i + 1 < t.size(); ++i) here = t[i] == a && t[i + 1] == b;
    if (!here) return;
    for (size_t i = 0; i + 1 < t.size(); ++i) {
      auto at = pairs_.find(key_of(t[i], t[i + 1]));
      if (at != pairs_.end()) at->second.count -= words_[w].count;
    }
    size_t to = 0;
    for (size_t i = 0; i < t.size(); ++i) {
      const bool joined = i + 1 < t.size() && t[i] == a && t[i + 1] == b;
      t[to++] = joined ? token : t[i];
      if (joined) ++i;
    }
    t.resize(to);
    for (size_t i = 0; i + 1 < t.size(); ++i) {
      const uint64_t key = key_of(t[i], t[i + 1]);
      if (t[i] == token || t[i + 1] == token) {
        add(t[i], t[i + 1], w);
        changed_.push_back(key);
      } else {
        pairs_.at(key).count += words_[w].count;
      }
    }
  }

  std::vector<Word> words_;
  std::unordered_map<uint64_t, Place> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<uint64_t> changed_;  // pairs with the new token, changed by the current merge
};

}  // namespace

void BPETokenizer::train(const std::vector<std::string>& corpus, int64_t vocab_size,
                         int64_t min_frequency, Where where) {
  if (vocab_size < 256 || vocab_size > (1 << 24)) {
    throw_error("BPETokenizer",
                "vocab_size must be 256, the bytes, to 2^24, got " + std::to_string(vocab_size),
                where);
  }
  if (min_frequency < 1) throw_error("BPETokenizer", "min_frequency must be positive", where);
  Training training(corpus);
  std::vector<Pair> merges;
  Pair next;
  while (256 + static_cast<int64_t>(merges.size()) < vocab_size &&
         training.next(min_frequency, static_cast<int32_t>(256 + merges.size()), &next)) {
    merges.push_back(next);
  }
  set_merges(merges, where);
}

}  // namespace wick::text
