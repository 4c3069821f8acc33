#include "trainer/autograd/grad/neighbours.h"

#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/ops.h"

namespace wick {

Tensor read_between(const Tensor& x, const std::vector<Neighbours>& along) {
  const Shape s = x.raw_shape();
  const int64_t images = s[0], channels = s[1], points = along[0].index.raw_shape()[0];
  int64_t plane = s[2];
  Tensor index = along[0].index, weight = along[0].weight;
  for (size_t d = 1; d < along.size(); ++d) {  // every tap so far with every tap of this dim
    const int64_t extent = s[2 + static_cast<int>(d)];
    const int64_t taps = index.raw_shape()[1] * along[d].index.raw_shape()[1];
    index = (index.unsqueeze(2) * extent + along[d].index.unsqueeze(1)).reshape({points, taps});
    weight = (weight.unsqueeze(2) * along[d].weight.unsqueeze(1)).reshape({points, taps});
    plane *= extent;
  }
  const Tensor first = moved_beside(index, (arange(images) * plane).reshape({images, 1}));
  index = index + first.expand({images, points / images}).reshape({points, 1});
  // A row holds the channels of one pixel, so that a point reads few whole rows.
  const Tensor rows =
      x.reshape({images, channels, plane}).transpose(1, 2).reshape({images * plane, channels});
  const Tensor read = index_select(rows, 0, index);  // [points, taps, channels]
  const Tensor y = matmul(weight.unsqueeze(1), read).squeeze(1);
  return y.reshape({images, points / images, channels}).transpose(1, 2);
}

}  // namespace wick
