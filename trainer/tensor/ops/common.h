// Includes what the families of public functions share.
#pragma once

#include <optional>

#include "trainer/tensor/dims.h"
#include "trainer/tensor/tensor.h"
