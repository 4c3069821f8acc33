#include "trainer/distributed/plan/net_cost.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "trainer/profile/profiler.h"

namespace wick::distributed {
namespace {

constexpr double kF32Bytes = 4;

// The elements of "float32[2,4] float32[4,3] -> float32[2,3]" behind the arrow, times four bytes.
double bytes_of_result(const std::string& shapes) {
  const size_t arrow = shapes.find("-> ");
  if (arrow == std::string::npos) return 0;
  double elements = 1;
  const size_t open = shapes.find('[', arrow);
  if (open == std::string::npos) return 0;
  for (const char* p = shapes.c_str() + open + 1; *p != ']' && *p != 0;) {
    char* end = nullptr;
    elements *= static_cast<double>(strtoll(p, &end, 10));
    if (end == p) return kF32Bytes;  // a scalar
    p = *end == ',' ? end + 1 : end;
  }
  return kF32Bytes * elements;
}

}  // namespace

int64_t NetCost::parameters() const {
  int64_t sum = 0;
  for (const LayerCost& l : layers) sum += l.parameters;
  return sum;
}
double NetCost::forward_flops() const {
  double sum = 0;
  for (const LayerCost& l : layers) sum += l.forward_flops;
  return sum;
}
double NetCost::kept_bytes() const {
  double sum = 0;
  for (const LayerCost& l : layers) sum += l.kept_bytes;
  return sum;
}

NetCost gpt_cost(const nn::GptOptions& o) {
  const auto e = static_cast<double>(o.embed_dim), t = static_cast<double>(o.max_seq_len),
             r = static_cast<double>(o.mlp_ratio), v = static_cast<double>(o.vocab_size),
             h = static_cast<double>(o.num_heads);
  NetCost net;
  net.name = "gpt";
  const double stream = kF32Bytes * t * e;
  LayerCost input{"input", o.vocab_size * o.embed_dim + o.max_seq_len * o.embed_dim, t * e, stream,
                  stream};
  net.layers.push_back(input);
  for (int64_t i = 0; i < o.num_layers; ++i) {
    LayerCost block;
    block.name = "block" + std::to_string(i);
    // Attention: four E x E matrices; the MLP: two of E x rE; biases, and two norms.
    block.parameters =
        (4 + 2 * o.mlp_ratio) * o.embed_dim * o.embed_dim + (4 + o.mlp_ratio + 1 + 4) * o.embed_dim;
    block.forward_flops = 2 * t * (4 + 2 * r) * e * e + 4 * t * t * e;
    // Norms, queries, keys, values, heads' output, sums, the MLP before and behind its activation;
    // scores before and behind the softmax.
    block.kept_bytes = (10 + 2 * r) * stream + kF32Bytes * 2 * h * t * t;
    block.output_bytes = stream;
    net.layers.push_back(block);
  }
  net.layers.push_back({"ln_f", 2 * o.embed_dim, 8 * t * e, 2 * stream, stream});
  net.layers.push_back({"lm_head", o.tie_weights ? 0 : o.vocab_size * o.embed_dim, 2 * t * e * v,
                        2 * kF32Bytes * t * v, kF32Bytes * t * v});
  // What gpt_plan() cuts: heads, rows and columns of the blocks' matrices, tokens.
  const int64_t tensor = std::gcd(std::gcd(o.num_heads, o.vocab_size),
                                  std::gcd(o.embed_dim, o.mlp_ratio * o.embed_dim));
  net.most_tensor = static_cast<int>(std::min<int64_t>(tensor, 1 << 20));
  net.most_stages = o.tie_weights ? 1 : static_cast<int>(net.layers.size());
  // Two sums in each block, one of the table; the head gives its logits to all.
  net.tensor_sum_bytes =
      (2 * static_cast<double>(o.num_layers) + 1) * stream + kF32Bytes * t * v / 2;
  return net;
}

NetCost measured_cost(nn::Module& net, const Tensor& sample, const std::string& name) {
  Profiler profiler;
  net(sample);
  const Profile& profile = profiler.stop();
  NetCost cost;
  cost.name = name;
  std::map<std::string, size_t> place;
  auto layer_of = [&](const std::string& path) -> LayerCost& {
    const auto [it, first] = place.emplace(path, cost.layers.size());
    if (first) cost.layers.push_back({path, 0, 0, 0, 0});
    return cost.layers[it->second];
  };
  for (const ProfileSlice& s : profile.slices) {
    if (s.kind != SliceKind::kKernel) continue;
    LayerCost& layer = layer_of(s.module);
    layer.forward_flops += s.cost.flops();
    layer.output_bytes = bytes_of_result(s.shapes);
    layer.kept_bytes += layer.output_bytes;
  }
  for (const auto& [path, module] : net.named_modules()) {
    int64_t own = 0;
    for (const Tensor& p : module->parameters(false)) own += p.layout().numel();
    if (own > 0) layer_of(path).parameters += own;
  }
  return cost;
}

}  // namespace wick::distributed
