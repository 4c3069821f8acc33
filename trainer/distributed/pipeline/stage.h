// A net as stages: what a rank of a pipeline keeps of it, and the whole state again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/distributed/group.h"
#include "trainer/nn/container.h"
#include "trainer/nn/models/gpt.h"

namespace wick::distributed {

// Returns the modules of this rank's stage, under their names, and empties `net`; the others' are
// freed. Every rank of `pipe` calls it with the same net, whose values become those of rank 0, as
// does the default generator. `cuts` are the indices of the first module of each stage but the
// first; empty: by parameters, as even as can be. Throws Error for fewer modules than ranks, for
// cuts that do not ascend, and where two stages share a parameter.
std::shared_ptr<nn::Sequential> take_stage(nn::Sequential& net, const Group& pipe,
                                           const std::vector<int64_t>& cuts = {},
                                           Where where = Where::current());

// Returns the tensors of all ranks, by rank and in their order, on every rank, which all call it:
// the state dict of the net whose stages they have.
nn::NamedTensors gather_states(const Group& group, const nn::NamedTensors& mine,
                               Where where = Where::current());

// Returns the layers of a GPT as one after the other: "input" (both tables and the dropout),
// "block0" and so on, each with its mask, "ln_f" and "lm_head". They move out of `gpt`, which is
// left without them. Throws Error if its weights are tied.
nn::Sequential gpt_layers(nn::GPT& gpt, Where where = Where::current());
// Returns a state of these layers under the names of the GPT: to save, to export, to load.
nn::NamedTensors gpt_state(const nn::NamedTensors& layers);

}  // namespace wick::distributed
