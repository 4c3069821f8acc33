// Strict broadcasting: reports broadcasts that a reader may not expect.
#pragma once

#include <string>
#include <vector>

#include "trainer/tensor/watcher.h"

namespace wick {

// While it lives, an elementwise op of this thread warns ("implicit-broadcast", once per line) if
//  - both operands are broadcast: [8] with [8,1] gives [8,8];
//  - an operand of lower rank is broadcast over leading dimensions: [4,4] with [4] repeats the row,
//    even if the column was meant.
// One-element operands are accepted, and so are explicit dimensions of size 1: unsqueeze() and
// keepdim show the intention.
class BroadcastCheck final : Watcher {
 public:
  BroadcastCheck() = default;
  const std::vector<std::string>& findings() const { return findings_; }  // one text per finding

 private:
  void on_call(const TracedCall& call) override;

  std::vector<std::string> findings_;
};

}  // namespace wick
