// Indexing, and the functions that work by index, order and running sums.
#pragma once

#include "trainer/tensor/ops/common.h"
