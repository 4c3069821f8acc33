// The public functions, a header a family: PyTorch's names and defaults. Every one takes its
// tensors as Arg, so that errors name the caller's line; every one is differentiable unless its
// mathematics is not.
#pragma once

#include "trainer/tensor/ops/arrange.h"
#include "trainer/tensor/ops/elementwise.h"
#include "trainer/tensor/ops/index.h"
#include "trainer/tensor/ops/layout.h"
#include "trainer/tensor/ops/linalg.h"
#include "trainer/tensor/ops/matmul.h"
#include "trainer/tensor/ops/nn.h"
#include "trainer/tensor/ops/reduce.h"
#include "trainer/tensor/ops/scan.h"
#include "trainer/tensor/ops/sort.h"
