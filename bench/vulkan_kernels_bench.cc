// Compares Vulkan kernels with the most that the device can do: products in GFLOP/s with a loop of
// fma, memory-bound ops in GB/s with a copy.
//
//   vulkan_kernels_bench [--device NAME] [--largest N]     N: of the square products, 4096 unless
//   told
//
// A kernel's time is that of one more of it in a command buffer, so that submitting and copies in
// and out are not included. The fastest of three counts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend/vulkan/graph/graph.h"
#include "runtime/backend/vulkan/shaders/constants.inc"

using namespace wick;
using namespace wick::vulkan;

namespace {

[[noreturn]] void fail(const Status& s) {
  std::fprintf(stderr, "%s\n", s.message());
  std::exit(1);
}
void need(const Status& s) {
  if (!s.ok()) fail(s);
}
template <class T>
T need(Result<T> r) {
  if (!r.ok()) fail(r.status());
  return r.value();
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the seconds of one repetition: the difference between many and few of them.
template <class F>
double seconds_each(int few, int many, F&& run) {
  double least_few = 1e30, least_many = 1e30;
  for (int turn = 0; turn < 3; ++turn) {
    const double begin = now();
    run(few);
    const double middle = now();
    run(many);
    least_few = std::min(least_few, middle - begin);
    least_many = std::min(least_many, now() - middle);
  }
  const double more = least_many - least_few;  // on a busy machine it may come out as nothing
  return more > 0 ? more / (many - few) : least_many / many;
}

struct Measured {
  Context* context;
  double gflops = 0, bandwidth = 0;  // 1e9 a second
};

// Runs repetitions of the shader that measures a device's limits.
class Peak {
 public:
  explicit Peak(Context& context) : context_(context) {
    const auto& device = context.device();
    need(x_.create(device, kBytes, MemoryKind::kDevice));
    need(y_.create(device, kBytes, MemoryKind::kDevice));
    need(commands_.create(device));
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
    VkDescriptorPoolCreateInfo pool = {};
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    need(pool_.create(device, &Api::CreateDescriptorPool, pool, "vkCreateDescriptorPool"));
    const VkDescriptorSetLayout layout = need(context.set_layout(2));
    VkDescriptorSetAllocateInfo allocate = {};
    allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    allocate.descriptorPool = pool_.get();
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &layout;
    need(check(device.api().AllocateDescriptorSets(device.handle(), &allocate, &set_),
               "vkAllocateDescriptorSets"));
    for (uint32_t i = 0; i < 2; ++i) {
      const VkDescriptorBufferInfo buffer = {i == 0 ? x_.handle() : y_.handle(), 0, kBytes};
      VkWriteDescriptorSet write = {};
      write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
      write.dstSet = set_;
      write.dstBinding = i;
      write.descriptorCount = 1;
      write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      write.pBufferInfo = &buffer;
      device.api().UpdateDescriptorSets(device.handle(), 1, &write, 0, nullptr);
    }
    need(commands_.begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
    commands_.fill({&x_, 0}, kBytes, 0);
    commands_.barrier(kCopyAccess, kShaderAccess);
    need(commands_.end());
    need(context.run(commands_, submission_));
  }

  double seconds(bool copy, uint32_t n, uint32_t groups) {
    const uint32_t kind = copy ? 1 : 0;
    const PipelineRef pipeline = need(context_.pipeline(ShaderId::k_peak, {&kind, 1}));
    const float a = 0.999f, b = 0.001f;
    uint32_t push[3] = {n, 0, 0};
    memcpy(push + 1, &a, 4);
    memcpy(push + 2, &b, 4);
    const uint32_t across[3] = {groups, 1, 1};
    return seconds_each(1, 5, [&](int times) {
      need(commands_.begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
      for (int i = 0; i < times; ++i) {
        commands_.dispatch(pipeline, set_, push, across);
        commands_.barrier(kShaderAccess, kShaderAccess);
      }
      need(commands_.end());
      need(context_.run(commands_, submission_));
    });
  }

  static constexpr uint64_t kBytes = 64 << 20;

 private:
  Context& context_;
  Buffer x_, y_;
  UniqueDescriptorPool pool_;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  CommandBuffer commands_;
  Submission submission_;
};

void measure_peaks(Measured& d, bool slow) {
  Peak peak(*d.context);
  const uint32_t groups = 4096, steps = slow ? 256 : 8192;
  const double flops = 2.0 * groups * WICK_FLAT_SIZE * WICK_PEAK_CHAINS * steps;
  d.gflops = flops / peak.seconds(false, steps, groups) / 1e9;
  const uint32_t vectors = Peak::kBytes / 16;
  d.bandwidth = 2.0 * Peak::kBytes / peak.seconds(true, vectors, vectors / WICK_FLAT_SIZE) / 1e9;
  std::printf("fma loop %9.1f GFLOP/s    copy %9.2f GB/s\n\n", d.gflops, d.bandwidth);
}

struct Tensor {
  DType dtype;
  Shape shape;
};

// Returns the seconds of the call, 0 if the device has no shader for it.
template <class A>
double call_seconds(Context& context, OpId op, const std::vector<Tensor>& in, const Tensor& out,
                    const A& attrs, int many) {
  std::vector<std::vector<char>> data;
  std::vector<const void*> from;
  for (const Tensor& t : in) {
    data.emplace_back(need(checked_bytes(t.shape, dtype_bits(t.dtype))), 0);
    if (t.dtype == DType::kF32) {
      for (size_t i = 0; i < data.back().size() / 4; ++i) {
        const float v = static_cast<float>(i % 97) / 97 - 0.5f;
        memcpy(data.back().data() + 4 * i, &v, 4);
      }
    }
    from.push_back(data.back().data());
  }
  std::vector<char> result(need(checked_bytes(out.shape, dtype_bits(out.dtype))));
  void* to = result.data();
  auto graph_of = [&](int times) {
    auto graph = std::make_unique<VulkanGraph>(context, default_allocator());
    std::vector<TensorId> ids;
    for (const Tensor& t : in) ids.push_back(need(graph->add_input(t.dtype, t.shape)));
    TensorId y = 0;
    for (int i = 0; i < times; ++i) {
      y = need(graph->add_temporary(out.dtype, out.shape));
      const Status s = graph->add_call(op, &attrs, ids, {&y, 1});
      if (s.code() == Code::kUnsupported) return std::unique_ptr<VulkanGraph>();
      need(s);
    }
    need(graph->add_output(y));
    need(graph->finish());
    return graph;
  };
  const auto one = graph_of(1);
  if (one == nullptr) return 0;
  const auto more = graph_of(many);
  need(one->run(from, {&to, 1}));
  return seconds_each(1, many, [&](int times) {
    need((times == 1 ? one : more)->run(from, {&to, 1}));
  });
}

void row(const char* name, double seconds, double amount, const char* unit, double most) {
  if (seconds == 0) {
    std::printf("%-44s no shader for it on this device\n", name);
    return;
  }
  const double rate = amount / seconds / 1e9;
  std::printf("%-44s %10.3f ms %10.1f %s %5.1f %%\n", name, seconds * 1e3, rate, unit,
              100 * rate / most);
}

void products(const Measured& d, int64_t largest, int many) {
  std::printf("products, beside the fma loop\n");
  auto product = [&](const char* what, int64_t m, int64_t n, int64_t k, DType t) {
    const double s = call_seconds(*d.context, OpId::kMatMul, {{t, {m, k}}, {t, {k, n}}},
                                  {t, {m, n}}, NoAttrs{}, many);
    row((std::string(what) + " " + std::to_string(m) + " x " + std::to_string(n) + " x " +
         std::to_string(k))
            .c_str(),
        s, 2.0 * static_cast<double>(m * n) * static_cast<double>(k), "GFLOP/s", d.gflops);
  };
  for (int64_t n = std::min<int64_t>(512, largest); n <= largest; n *= 2)
    product("MatMul f32", n, n, n, DType::kF32);
  for (int64_t n = std::min<int64_t>(512, largest); n <= largest; n *= 2)
    product("MatMul f16", n, n, n, DType::kF16);
  product("MatMul f32, a language model's layer", 64, 3 * largest / 4, largest / 4, DType::kF32);
  auto conv = [&](const char* what, Shape x, Shape w, Shape y, int64_t pad, int64_t group) {
    ConvAttrs a;
    a.pads = {pad, pad, pad, pad};
    a.group = group;
    const double s = call_seconds(*d.context, OpId::kConv, {{DType::kF32, x}, {DType::kF32, w}},
                                  {DType::kF32, y}, a, many);
    const double taps = static_cast<double>(numel(w)) / static_cast<double>(w[0]);
    row(what, s, 2.0 * static_cast<double>(numel(y)) * taps, "GFLOP/s", d.gflops);
  };
  const int64_t batch = largest >= 2048 ? 32 : 1;
  conv("Conv 3x3, 64 channels, 56x56", {batch, 64, 56, 56}, {64, 64, 3, 3}, {batch, 64, 56, 56}, 1,
       1);
  conv("Conv 3x3, 512 channels, 7x7", {batch, 512, 7, 7}, {512, 512, 3, 3}, {batch, 512, 7, 7}, 1,
       1);
  conv("Conv 1x1, 256 to 64 channels, 56x56", {batch, 256, 56, 56}, {64, 256, 1, 1},
       {batch, 64, 56, 56}, 0, 1);
  const int64_t n = largest;
  const double s =
      call_seconds(*d.context, OpId::kMatMulInteger, {{DType::kU8, {n, n}}, {DType::kI8, {n, n}}},
                   {DType::kI32, {n, n}}, NoAttrs{}, many);
  row(("MatMulInteger " + std::to_string(n) + " (of the float peak)").c_str(), s,
      2.0 * static_cast<double>(n * n) * static_cast<double>(n), "GOP/s  ", d.gflops);
}

void memory(const Measured& d, int64_t largest, int many) {
  std::printf("\nwhat memory bounds, beside the copy\n");
  const int64_t n = largest * largest;
  const double bytes = 4.0 * static_cast<double>(n);
  const Tensor flat{DType::kF32, {n}}, square{DType::kF32, {largest, largest}};
  auto bound = [&](const char* what, double seconds, double moved) {
    row(what, seconds, moved, "GB/s   ", d.bandwidth);
  };
  bound("Relu", call_seconds(*d.context, OpId::kRelu, {flat}, flat, NoAttrs{}, many), 2 * bytes);
  bound("Add", call_seconds(*d.context, OpId::kAdd, {flat, flat}, flat, NoAttrs{}, many),
        3 * bytes);
  bound("Add of a row",
        call_seconds(*d.context, OpId::kAdd, {square, {DType::kF32, {largest}}}, square, NoAttrs{},
                     many),
        2 * bytes);
  bound("Softmax of rows",
        call_seconds(*d.context, OpId::kSoftmax, {square}, square, AxisAttrs{1}, many), 2 * bytes);
  TransposeAttrs turn;
  turn.perm = {1, 0};
  bound("Transpose", call_seconds(*d.context, OpId::kTranspose, {square}, square, turn, many),
        2 * bytes);
  const Tensor row_of{DType::kF32, {1, largest}};
  bound("Linear of one row (its weight)",
        call_seconds(*d.context, OpId::kLinear, {row_of, square}, row_of, NoAttrs{}, many), bytes);
  bound("MatMul of one row (its weight)",
        call_seconds(*d.context, OpId::kMatMul, {row_of, square}, row_of, NoAttrs{}, many), bytes);
  const int64_t blocks = largest / 32;
  bound("BlockLinear of one row, 4 bits (its weight)",
        call_seconds(*d.context, OpId::kBlockLinear,
                     {row_of, {DType::kU4, {largest, largest}}, {DType::kF16, {largest, blocks}}},
                     row_of, BlockLinearAttrs{}, many),
        static_cast<double>(n) * (0.5 + 2.0 / 32));
  const int64_t channels = 256, side = std::max<int64_t>(largest / 32, 8);
  ConvAttrs depthwise;
  depthwise.group = channels;
  depthwise.pads = {1, 1, 1, 1};
  const Tensor map{DType::kF32, {4, channels, side, side}};
  bound("Conv 3x3, depthwise",
        call_seconds(*d.context, OpId::kConv, {map, {DType::kF32, {channels, 1, 3, 3}}}, map,
                     depthwise, many),
        8.0 * static_cast<double>(numel(map.shape)));
}

}  // namespace

int main(int argc, char** argv) {
  ContextOptions options;
  int64_t largest = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--device") == 0) options.device = argv[i + 1];
    if (strcmp(argv[i], "--largest") == 0) largest = std::atoll(argv[i + 1]);
  }
  Measured d{need(Context::create(default_allocator(), options))};
  const DeviceInfo& info = d.context->device().info();
  const bool slow = info.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  if (largest < 64) largest = slow ? 512 : 4096;
  largest -= largest % 64;
  std::printf(
      "%s (%s), subgroups of %u, shared memory %u KiB, f16 %s, integer dot %s, matrix units %s\n",
      info.name, device_type_name(info.type), info.subgroup_size,
      info.limits.maxComputeSharedMemorySize / 1024, info.f16_storage ? "yes" : "no",
      info.integer_dot ? "yes" : "no", info.matrix_units ? "yes" : "no");
  measure_peaks(d, slow);
  const int many = slow ? 3 : 9;
  products(d, largest, many);
  memory(d, largest, many);
  Context::destroy(d.context);
  return 0;
}
