// The public functions, one header per family, with PyTorch's names and defaults. All take their
// tensors as Arg, so that errors name the caller's line; all are differentiable unless their
// mathematics is not.
#pragma once

#include "trainer/tensor/ops/arrange.h"
#include "trainer/tensor/ops/convert.h"
#include "trainer/tensor/ops/creation.h"
#include "trainer/tensor/ops/elementwise.h"
#include "trainer/tensor/ops/fft.h"
#include "trainer/tensor/ops/index.h"
#include "trainer/tensor/ops/inplace.h"
#include "trainer/tensor/ops/layout.h"
#include "trainer/tensor/ops/linalg.h"
#include "trainer/tensor/ops/matmul.h"
#include "trainer/tensor/ops/nn.h"
#include "trainer/tensor/ops/out.h"
#include "trainer/tensor/ops/random/random.h"
#include "trainer/tensor/ops/reduce.h"
#include "trainer/tensor/ops/scan.h"
#include "trainer/tensor/ops/sort.h"
#include "trainer/tensor/ops/special.h"
#include "trainer/tensor/ops/view.h"
#include "trainer/tensor/print.h"
#include "trainer/tensor/promote.h"
