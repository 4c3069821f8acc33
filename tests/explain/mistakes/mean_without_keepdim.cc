// The mean of each row, without keepdim, is subtracted from the columns.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

int main() {
  manual_seed(1);
  BroadcastCheck check;
  Tensor x = rand({5, 5}).named("x");
  Tensor mean_of_row = mean(x, {1}).named("mean_of_row");
  Tensor centred = x - mean_of_row;
  return 0;
}
