#include "trainer/tensor/ops/index.h"
