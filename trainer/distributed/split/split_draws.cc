#include "trainer/distributed/split/split_draws.h"

#include "trainer/tensor/draws.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

// Streams of this thread's default generator: behind the last column split, where the region of
// the sequence began, and how many SplitDraws has taken since.
struct Streams {
  uint64_t column = 0, region = 0, taken = 0;
};
constinit thread_local Streams t_streams;

void refuse_draws(const std::string& path, const Where& where) {
  throw_error("tensor_parallel",
              "random numbers were drawn for a split activation that reaches '" + path +
                  "': a dropout stands where ranks have different elements; move it behind the row "
                  "split, or set its probability to 0",
              where, Code::kUnsupported);
}

}  // namespace

SplitDraws::SplitDraws(int first, int shards, bool on) : first_(first), on_(on && shards > 1) {
  if (on && !on_) ++t_streams.taken;
  if (!on_) return;
  const Draw draw = next_draw(default_generator());
  ++t_streams.taken;
  seed_ = draw.seed;
  stream_ = draw.stream;
}

std::unique_ptr<SplitDraws::OfShard> SplitDraws::of_shard(size_t i) const {
  auto own = std::make_unique<OfShard>();
  if (!on_) return own;
  const auto words = philox(seed_, stream_, static_cast<uint64_t>(first_) + i);
  own->generator = {uint64_t{words[0]} << 32 | words[1], 0};
  own->scope = std::make_unique<GeneratorScope>(own->generator);
  return own;
}

void SplitDraws::begin() { t_streams.column = default_generator().stream; }
void SplitDraws::check(const std::string& path, const Where& where) {
  if (default_generator().stream != t_streams.column) refuse_draws(path, where);
}
void SplitDraws::begin_region() {
  t_streams.region = default_generator().stream;
  t_streams.taken = 0;
}
void SplitDraws::end_region(const std::string& path, const Where& where) {
  if (default_generator().stream - t_streams.region != t_streams.taken) refuse_draws(path, where);
}

}  // namespace wick::distributed
