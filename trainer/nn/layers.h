// All layers, with PyTorch's argument order, parameter names and initialization; one header per
// family.
#pragma once

#include "trainer/nn/activation.h"
#include "trainer/nn/container.h"
#include "trainer/nn/conv.h"
#include "trainer/nn/dropout.h"
#include "trainer/nn/image.h"
#include "trainer/nn/init.h"
#include "trainer/nn/linear.h"
#include "trainer/nn/loss.h"
#include "trainer/nn/norm.h"
#include "trainer/nn/pool.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/ops/loss/ctc_loss.h"
#include "trainer/tensor/ops/window.h"
