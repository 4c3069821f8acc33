// Calls that no doubling of a sample's sizes makes long.
#include "tests/deadline/case.h"

namespace wick::test {

std::vector<Sample> hand_samples(OpId, double) { return {}; }

}  // namespace wick::test
