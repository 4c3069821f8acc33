// Random numbers of split activations. A shard has numbers of its own, which do not depend on the
// ranks; where a module draws for a split activation that it does not know to be split, ranks would
// draw the same for different elements, and that is an error. Internal.
#pragma once

#include <memory>
#include <string>

#include "trainer/tensor/philox.h"

namespace wick::distributed {

class SplitDraws {
 public:
  // Of an op that draws (on) for each shard; the own ones begin at `first`. One shard in all draws
  // from the default generator, as the unsplit layer does.
  SplitDraws(int first, int shards, bool on);
  // While the result lives, the default generator is that of own shard i.
  struct OfShard {
    Generator generator;
    std::unique_ptr<GeneratorScope> scope;
  };
  std::unique_ptr<OfShard> of_shard(size_t i) const;

  // The output of a column split begins, and is used up by a row split: nothing was drawn between.
  static void begin();
  static void check(const std::string& path, const Where& where);
  // The same for activations that are cut along the sequence; draws of SplitDraws are allowed.
  static void begin_region();
  static void end_region(const std::string& path, const Where& where);

 private:
  int first_;
  bool on_;
  uint64_t seed_ = 0, stream_ = 0;
};

}  // namespace wick::distributed
