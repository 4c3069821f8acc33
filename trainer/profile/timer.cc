#include "trainer/profile/timer.h"

#include "trainer/tensor/vulkan_memory.h"

namespace wick {

void wait_for_devices() {
  synchronize();
  wait_for_vulkan("Timer", Where::current());
}

}  // namespace wick
