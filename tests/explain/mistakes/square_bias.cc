// One bias a row was meant; the square shape lets it be added to the columns.
#include <wick/trainer.h>

using namespace wick;  // NOLINT: a short program

int main() {
  manual_seed(1);
  BroadcastCheck check;
  Tensor scores = rand({4, 4}).named("scores");
  Tensor bias_of_row = tensor({0.F, 1.F, 2.F, 3.F}).named("bias_of_row");
  Tensor shifted = scores + bias_of_row;
  return 0;
}
