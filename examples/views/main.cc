// View or copy? If the bytes are the same it is a view: a write through one shows in the other.
#include <wick/trainer.h>

#include <cstdio>
#include <functional>

using namespace wick;  // NOLINT: an example

static void detect(const char* what, const std::function<Tensor(const Tensor&)>& f) {
  Tensor x = zeros({4, 6});
  size_t before = live_bytes();
  Tensor y = f(x);
  const bool shares = &y.storage() == &x.storage();
  size_t copied = live_bytes() - before;
  y.add_(ones_like(y).contiguous());
  const bool written = sum(x).item() != 0;
  std::printf("%-34s %-5s %3zu bytes copied; a write to it %s x\n", what, shares ? "view" : "copy",
              copied, written ? "changes" : "leaves");
}

int main() {
  NoGrad guard;
  detect("x.view({24})", [](const Tensor& x) { return x.view({24}); });
  detect("x.t()", [](const Tensor& x) { return x.t(); });
  detect("x.slice(0, 1, 3)", [](const Tensor& x) { return x.slice(0, 1, 3); });
  detect("x.select(1, 0)", [](const Tensor& x) { return x.select(1, 0); });
  detect("x.unsqueeze(0)", [](const Tensor& x) { return x.unsqueeze(0); });
  detect("x.detach()", [](const Tensor& x) { return x.detach(); });
  detect("x.reshape({3, 8})", [](const Tensor& x) { return x.reshape({3, 8}); });
  detect("x.contiguous()", [](const Tensor& x) { return x.contiguous(); });
  detect("x.t().reshape({24})", [](const Tensor& x) { return x.t().reshape({24}); });
  detect("x.t().contiguous()", [](const Tensor& x) { return x.t().contiguous(); });
  detect("x.clone()", [](const Tensor& x) { return x.clone(); });
  detect("x.to(float32), already so", [](const Tensor& x) { return x.to(DType::kF32); });
  detect("x + 0", [](const Tensor& x) { return x + 0; });
}
