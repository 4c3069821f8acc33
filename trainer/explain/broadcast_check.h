// Strict broadcasting: reports every place where shapes are stretched that a reader may not expect.
#pragma once

#include <string>
#include <vector>

#include "trainer/tensor/watcher.h"

namespace wick {

// While it lives, an elementwise op of this thread warns ("implicit-broadcast", once a line) when
//  - both operands are stretched: [8] with [8,1] gives [8,8];
//  - an operand of lower rank is stretched over leading dimensions: [4,4] with [4] repeats the row,
//    even where the column was meant.
// One-element operands pass, and so does a dimension of size 1 that is written out: unsqueeze() and
// keepdim say what is meant.
class BroadcastCheck final : Watcher {
 public:
  BroadcastCheck() = default;
  const std::vector<std::string>& findings() const { return findings_; }  // a text a finding

 private:
  void on_call(const TracedCall& call) override;

  std::vector<std::string> findings_;
};

}  // namespace wick
