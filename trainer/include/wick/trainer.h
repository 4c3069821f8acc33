// Wick's training engine: tensors, autograd, modules. PyTorch's names where PyTorch has them.
#pragma once

#include "trainer/autograd/autograd.h"
#include "trainer/nn/layers.h"
#include "trainer/nn/models.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"
#include "trainer/tensor/tensor.h"
#include "wick/error.h"
