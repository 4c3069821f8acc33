// A tensor is bytes plus a way to traverse them: shape, strides, offset. Views change that way, and
// not the bytes.
#include <wick/trainer.h>

#include <cstdio>
#include <string>

using namespace wick;  // NOLINT: an example

static const char* base = nullptr;

static void show(const char* what, const Tensor& t) {
  const TensorView v = t.raw();
  auto offset = (static_cast<const char*>(v.data) - base) / static_cast<int64_t>(sizeof(int64_t));
  std::string values;
  for (int64_t x : t.to_vector<int64_t>()) {
    if (!values.empty()) values += ' ';
    values += std::to_string(x);
  }
  std::printf("%-22s %-9s %-9s %6lld  %-10s  %s\n", what, to_text(v.shape).text,
              to_text(v.strides).text, static_cast<long long>(offset),
              t.is_contiguous() ? "yes" : "no", values.c_str());
}

int main() {
  Tensor x = arange(6).view({2, 3});
  base = static_cast<const char*>(x.raw().data);
  std::printf("%-22s %-9s %-9s %6s  %-10s  %s\n", "", "shape", "strides", "offset", "contiguous",
              "elements in order");
  show("x", x);
  show("x.t()", x.t());
  show("x.select(1, 2)", x.select(1, 2));
  show("x.slice(1, 0, 3, 2)", x.slice(1, 0, 3, 2));
  show("x.slice(0, 1, 2)", x.slice(0, 1, 2));
  show("x.unsqueeze(1)", x.unsqueeze(1));
  show("x[0] expanded to 2,3", x.select(0, 0).expand({2, 3}));

  // The element [i, j] is at offset + i * stride[0] + j * stride[1].
  Tensor t = x.t();
  const auto* bytes = static_cast<const int64_t*>(x.raw().data);
  std::printf("x.t()[2, 1] = bytes[2 * %lld + 1 * %lld] = %lld\n",
              static_cast<long long>(t.strides()[0]), static_cast<long long>(t.strides()[1]),
              static_cast<long long>(bytes[2 * t.strides()[0] + t.strides()[1]]));
  try {
    t.view({6});
  } catch (const Error& e) {
    std::printf("x.t().view({6}): %s\n", e.what());
  }
  Tensor copy = t.contiguous();
  base = static_cast<const char*>(copy.raw().data);
  show("x.t().contiguous()", copy);
}
