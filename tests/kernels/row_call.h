// A call of an op on floats, run by the rows of a kernel set.
#pragma once

#include <string>

#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/prepared.h"
#include "tests/kernels/kernel_test_util.h"

namespace wick::test {

struct RowCall {
  OpId op;
  AnyAttrs attrs;
  std::vector<Shape> shapes;
  std::vector<std::vector<float>> data;
  Shape y;

  bool is_absent(size_t i) const { return data[i].empty() && numel(shapes[i]) != 0; }
  void add(Random& random, const Shape& shape, bool there = true) {
    shapes.push_back(there ? shape : Shape{});
    data.push_back(there ? random_floats(random, numel(shape)) : std::vector<float>());
  }
  // Adds bias, scale and shift, and residual, by the bits of `parts`.
  void add_epilogue(Random& random, int64_t channels, unsigned parts) {
    add(random, {channels}, (parts & 1) != 0);
    add(random, {channels}, (parts & 2) != 0);
    add(random, {channels}, (parts & 2) != 0);
    add(random, y, (parts & 4) != 0);
  }

  std::vector<float> run(const KernelSet& set, ThreadPool* pool = nullptr, bool pack = false,
                         std::string* name = nullptr) const {
    std::vector<TensorView> in;
    for (size_t i = 0; i < data.size(); ++i)
      in.emplace_back(const_cast<float*>(data[i].data()), is_absent(i) ? DType::kNone : DType::kF32,
                      shapes[i]);
    std::vector<float> out(static_cast<size_t>(numel(y)), -7.0f);
    TensorView view(out.data(), DType::kF32, y);
    const KernelSet* sets[] = {&set};
    const KernelQuery query{op, attrs.get(), in, {&view, 1}, pool == nullptr ? 1 : pool->threads()};
    PreparedKernel kernel;
    const Status prepared = kernel.prepare(sets, query);
    EXPECT_TRUE(prepared.ok()) << prepared.message();
    if (!prepared.ok()) return out;
    if (name != nullptr) *name = kernel.row().name;
    Arena arena(default_allocator());
    if (pack) {
      EXPECT_TRUE(kernel.pack_all(query, arena).ok());
      in[1].data = nullptr;  // a packed weight is not read
    }
    NanBuffer scratch(kernel.scratch_bytes());
    EXPECT_TRUE(kernel.run({pool, scratch.data()}, op, in, {&view, 1}, attrs.get()).ok());
    return out;
  }
};

// A FusedConv of random numbers.
inline RowCall conv_call(Random& random, const Shape& x, const Shape& w, const FusedConvAttrs& a,
                         unsigned parts = 0) {
  RowCall call{OpId::kFusedConv, AnyAttrs::of(a), {}, {}, {x[0], w[0]}};
  const int spatial = x.rank() - 2;
  for (int i = 0; i < spatial; ++i) {
    const int64_t reach = (w[2 + i] - 1) * a.conv.dilations.at_or(i, 1) + 1;
    const int64_t pads = a.conv.pads.at_or(i, 0) + a.conv.pads.at_or(spatial + i, 0);
    call.y.push_back((x[2 + i] + pads - reach) / a.conv.strides.at_or(i, 1) + 1);
  }
  call.add(random, x);
  call.add(random, w);
  call.add_epilogue(random, w[0], parts);
  return call;
}

}  // namespace wick::test
