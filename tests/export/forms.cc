// Common operations on sizes: PyTorch's habits, in C++.
#include <cmath>

#include "tests/export/corpus.h"
#include "wick/trainer.h"

namespace wick::test {

std::vector<Program> form_programs() {
  std::vector<Program> all;
  auto add = [&](const char* name, std::function<Tensor(const Tensor&)> f) {
    all.push_back(form(name, {2, 6, 8}, {batch(), time(1, 2)}, std::move(f)));
  };
  // -- the fifteen that torch.onnx.export takes
  add("view_by_size", [](const Tensor& x) { return x.view({x.size(0), -1}); });
  add("heads_by_reshape", [](const Tensor& x) {
    return x.reshape({x.size(0), x.size(1), 2, 4}).transpose(1, 2).contiguous();
  });
  add("heads_and_back", [](const Tensor& x) {
    Tensor h = x.reshape({x.size(0), x.size(1), 2, 4}).transpose(1, 2);
    return relu(h).transpose(1, 2).reshape({x.size(0), x.size(1), 8});
  });
  add("select_the_last", [](const Tensor& x) { return x.select(1, -1); });
  add("slice_to_the_end", [](const Tensor& x) { return x.slice(1, 1, x.size(1)); });
  add("slice_to_half", [](const Tensor& x) { return x.slice(1, 0, x.size(1) / 2); });
  add("zeros_of_the_batch", [](const Tensor& x) { return cat({zeros({x.size(0), 1, 8}), x}, 1); });
  add("zeros_like", [](const Tensor& x) { return cat({x, zeros_like(x)}, 2); });
  add("ones_like", [](const Tensor& x) { return x * 2 + ones_like(x); });
  add("arange_of_time",
      [](const Tensor& x) { return x + arange(x.size(1)).to(DType::kF32).unsqueeze(-1); });
  add("expand", [](const Tensor& x) {
    return x.slice(1, 0, 1).expand({x.size(0), x.size(1), 8}) + x;
  });
  add("expand_minus_one", [](const Tensor& x) {
    return ones({1, 1, 8}).expand({x.size(0), x.size(1), -1}) + x;
  });
  add("repeat", [](const Tensor& x) { return repeat(x.slice(1, 0, 1), {1, x.size(1), 1}) + x; });
  add("roll", [](const Tensor& x) { return roll(x, 1, 1); });
  add("roll_by_half", [](const Tensor& x) { return roll(x, x.size(1) / 2, 1); });
  add("sort", [](const Tensor& x) { return sort(x, 1).values; });
  add("var", [](const Tensor& x) { return var(x, {1}); });
  add("std", [](const Tensor& x) { return wick::std(x, {1}, true); });
  add("chunk", [](const Tensor& x) {
    const auto parts = chunk(x, 2, -1);
    return parts[0] * sigmoid(parts[1]);
  });
  add("divide_by_time", [](const Tensor& x) { return x / x.size(1); });
  add("divide_by_root",
      [](const Tensor& x) { return x / std::sqrt(static_cast<double>(x.size(1))); });
  // -- more of them
  add("mean_by_hand", [](const Tensor& x) { return sum(x, {1}) / static_cast<double>(x.size(1)); });
  add("center", [](const Tensor& x) { return x - mean(x, {1}, true); });
  add("normalize", [](const Tensor& x) { return x / (sqrt(sum(x * x, {2}, true)) + 1e-6); });
  add("flatten", [](const Tensor& x) { return flatten(x, 1); });
  add("flatten_all", [](const Tensor& x) { return x.reshape({-1}); });
  add("fold_time_into_batch", [](const Tensor& x) {
    return x.reshape({x.size(0) * x.size(1), 8});
  });
  add("fold_and_unfold", [](const Tensor& x) {
    return relu(x.reshape({-1, 8})).view({x.size(0), x.size(1), 8});
  });
  add("numel", [](const Tensor& x) { return x.reshape({x.numel()}); });
  add("first_and_last", [](const Tensor& x) {
    return cat({x.select(1, 0), x.select(1, x.size(1) - 1)}, 1);
  });
  add("differences",
      [](const Tensor& x) { return x.slice(1, 1, x.size(1)) - x.slice(1, 0, x.size(1) - 1); });
  add("shift", [](const Tensor& x) {
    return cat({zeros({x.size(0), 1, 8}), x.slice(1, 0, x.size(1) - 1)}, 1);
  });
  add("flip", [](const Tensor& x) { return flip(x, {1}); });
  add("cumsum", [](const Tensor& x) { return cumsum(x, 1); });
  add("cumulative_mean", [](const Tensor& x) {
    return cumsum(x, 1) / arange(1, x.size(1) + 1).to(DType::kF32).unsqueeze(-1);
  });
  add("even_places", [](const Tensor& x) { return x.slice(1, 0, x.size(1), 2); });
  add("causal_softmax", [](const Tensor& x) {
    Tensor scores = matmul(x, x.transpose(1, 2));
    Tensor mask = tril(ones({x.size(1), x.size(1)}, DType::kBool));
    return softmax(where(mask, scores, full({}, -INFINITY)), -1);
  });
  add("create_causal_mask", [](const Tensor& x) {
    return scaled_dot_product_attention(x, x, x, nn::create_causal_mask(x.size(1)));
  });
  add("masked_fill", [](const Tensor& x) {
    return masked_fill(matmul(x, x.transpose(1, 2)),
                       triu(ones({x.size(1), x.size(1)}, DType::kBool), 1), -1e9);
  });
  add("relative_places", [](const Tensor& x) {
    Tensor at = arange(x.size(1));
    Tensor far = abs(at.unsqueeze(0) - at.unsqueeze(1)).to(DType::kF32);
    return matmul(softmax(-far, -1), x);
  });
  add("sinusoids", [](const Tensor& x) {
    Tensor at = arange(x.size(1)).to(DType::kF32).unsqueeze(1);
    Tensor rate = exp(arange(0, 8, 2).to(DType::kF32) * (-std::log(10000.0) / 8));
    return x + cat({sin(at * rate), cos(at * rate)}, 1);
  });
  add("topk", [](const Tensor& x) { return topk(x, 3, 2).values; });
  add("topk_half", [](const Tensor& x) { return topk(x, x.size(1) / 2, 1).values; });
  add("argmax", [](const Tensor& x) { return argmax(x, 1); });
  add("one_hot", [](const Tensor& x) { return one_hot(argmax(x, 2), 8).to(DType::kF32); });
  add("gather_max", [](const Tensor& x) { return gather(x, 1, argmax(x, 1, true)); });
  add("outer", [](const Tensor& x) { return einsum("bti,btj->bij", {x, x}); });
  add("attention_by_hand", [](const Tensor& x) {
    return matmul(softmax(matmul(x, x.transpose(1, 2)) / std::sqrt(8.0), -1), x);
  });
  add("pad_time", [](const Tensor& x) { return pad(x, {0, 0, 2, 1}); });
  add("pad_to_even", [](const Tensor& x) { return pad(x, {0, 0, 0, x.size(1) % 2}); });
  add("stack", [](const Tensor& x) { return stack({x, relu(x)}, 1); });
  add("unbind", [](const Tensor& x) {
    const auto parts = unbind(x.reshape({x.size(0), x.size(1), 2, 4}), 2);
    return parts[0] + parts[1];
  });
  add("rotate_half", [](const Tensor& x) {
    return cat({-x.slice(-1, 4, 8), x.slice(-1, 0, 4)}, -1);
  });
  add("write_a_row", [](const Tensor& x) {
    Tensor y = x.clone();
    y.select(1, 0).fill_(0);
    return y;
  });
  add("write_the_last_row", [](const Tensor& x) {
    Tensor y = x.clone();
    y.select(1, -1).fill_(1);
    return y;
  });
  add("copy_into_zeros", [](const Tensor& x) {
    Tensor y = zeros({x.size(0), x.size(1) + 2, 8});
    y.slice(1, 1, x.size(1) + 1).copy_(x);
    return y;
  });
  add("add_in_place", [](const Tensor& x) {
    Tensor y = relu(x);
    y.add_(x);
    y.mul_(2);
    return y;
  });
  add("clamp_by_size", [](const Tensor& x) { return clamp(x * 100, 0, x.size(1)); });
  add("max_of_sizes",
      [](const Tensor& x) { return x.slice(1, 0, std::max<int64_t>(x.size(1) - 3, 1)); });
  add("min_of_sizes",
      [](const Tensor& x) { return x.slice(1, 0, std::min<int64_t>(x.size(1), 4)); });
  add("blocks_of_two", [](const Tensor& x) {
    const int64_t n = x.size(1) / 2;
    return mean(x.slice(1, 0, 2 * n).reshape({x.size(0), n, 2, 8}), {2});
  });
  add("linspace_free", [](const Tensor& x) { return x * full({x.size(1), 1}, 0.5); });
  add("identity_times", [](const Tensor& x) { return matmul(eye(x.size(1)), x); });
  add("diagonal", [](const Tensor& x) { return diagonal(matmul(x, x.transpose(1, 2)), 0, 1, 2); });
  add("norm", [](const Tensor& x) { return norm(x, 2.0, {2}); });
  add("logsumexp", [](const Tensor& x) { return logsumexp(x, {1}); });
  add("quantiles", [](const Tensor& x) { return median(x, 1).values; });
  add("cdist", [](const Tensor& x) { return cdist(x, x); });
  add("bmm", [](const Tensor& x) { return bmm(x, x.transpose(1, 2)); });
  add("squeeze_unsqueeze", [](const Tensor& x) { return x.unsqueeze(1).squeeze(1) + 1; });
  add("movedim", [](const Tensor& x) { return movedim(x, 1, 0).contiguous(); });
  add("permute", [](const Tensor& x) { return x.permute({2, 0, 1}).reshape({8, -1}); });
  add("scalar_of_batch", [](const Tensor& x) { return sum(x, {0}) / x.size(0); });
  add("comparison", [](const Tensor& x) { return gt(x, 0).to(DType::kF32) * x; });
  add("index_select", [](const Tensor& x) {
    return index_select(x, 2, tensor<int64_t>({3, 1, 2}));
  });
  return all;
}

}  // namespace wick::test
