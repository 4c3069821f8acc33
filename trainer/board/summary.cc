#include "trainer/board/summary.h"

#include <algorithm>
#include <cmath>

#include "trainer/data/image/image_grid.h"
#include "trainer/data/image/image_write.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick::board {
namespace {

// Fields of Summary.Value.
constexpr int kTag = 1, kScalar = 2, kImage = 4, kHistogram = 5, kTensor = 8, kMetadata = 9;

Message value_of(const std::string& tag) { return Message().bytes(kTag, tag); }

// The edges between buckets: -1e20 or so, ... -1e-12, 0, 1e-12, each 1.1 times the one before ...
const std::vector<double>& bucket_edges() {
  static const std::vector<double> edges = [] {
    std::vector<double> up, all;
    for (double v = 1e-12; v < 1e20; v *= 1.1) up.push_back(v);
    for (auto v = up.rbegin(); v != up.rend(); ++v) all.push_back(-*v);
    all.push_back(0);
    all.insert(all.end(), up.begin(), up.end());
    return all;
  }();
  return edges;
}

struct Buckets {
  double min = 0, max = 0, num = 0, sum = 0, squares = 0;
  std::vector<double> limits, counts;
};

// Bucket i holds edge i <= x < edge i + 1. What lies beyond the outer edges is in the outer
// buckets.
size_t bucket_of(double x) {
  const std::vector<double>& edges = bucket_edges();
  const auto above = std::upper_bound(edges.begin(), edges.end(), x) - edges.begin();
  return static_cast<size_t>(
      std::clamp<int64_t>(above - 1, 0, static_cast<int64_t>(edges.size()) - 2));
}

Buckets buckets_of(const Arg& values) {
  const Tensor host = to_host(values.tensor.detach(), values.where);
  const std::vector<double>& edges = bucket_edges();
  std::vector<double> counts(edges.size() - 1);
  Buckets b;
  for_each_element(host.raw(), [&](double x, int64_t) {
    if (!std::isfinite(x)) return;
    b.min = b.num == 0 ? x : std::min(b.min, x);
    b.max = b.num == 0 ? x : std::max(b.max, x);
    ++b.num;
    b.sum += x;
    b.squares += x * x;
    ++counts[bucket_of(x)];
  });
  if (b.num == 0) return b;
  // A bucket has its upper limit alone: one empty bucket before the first that holds something
  // tells where that begins.
  const size_t first = bucket_of(b.min), last = bucket_of(b.max);
  b.limits.assign(edges.begin() + static_cast<ptrdiff_t>(first),
                  edges.begin() + static_cast<ptrdiff_t>(last) + 2);
  b.counts.push_back(0);
  b.counts.insert(b.counts.end(), counts.begin() + static_cast<ptrdiff_t>(first),
                  counts.begin() + static_cast<ptrdiff_t>(last) + 1);
  return b;
}

// SummaryMetadata of a plugin's data.
Message metadata(const std::string& plugin, const std::string& content) {
  return Message().message(1, Message().bytes(1, plugin).bytes(2, content));
}

// HParamsPluginData with one of its parts: 2 the experiment, 3 the begin, 4 the end of a session.
Message hparams_value(const char* tag, int part, const Message& content) {
  constexpr int kVersion = 1;
  Message data;
  data.integer(kVersion, 0).message(part, content);
  return value_of(tag).message(kMetadata, metadata("hparams", data.text()));
}

}  // namespace

Message scalar_value(const std::string& tag, double value) {
  return value_of(tag).real32(kScalar, static_cast<float>(value));
}

Message histogram_value(const std::string& tag, const Arg& values) {
  const TensorView v = values.tensor.layout();
  if (!is_float(v.dtype) && !is_int(v.dtype)) {
    throw_error("add_histogram", joined(tag, ": needs numbers, got ", type_text(v)), values.where);
  }
  const Buckets b = buckets_of(values);
  if (b.num == 0) {
    throw_error("add_histogram",
                joined(tag, ": ", type_text(v),
                       v.numel() == 0 ? " has no elements" : " has no element that is finite"),
                values.where);
  }
  Message h;
  h.real(1, b.min).real(2, b.max).real(3, b.num).real(4, b.sum).real(5, b.squares);
  h.reals(6, b.limits).reals(7, b.counts);
  return value_of(tag).message(kHistogram, h);
}

Message image_value(const std::string& tag, const Arg& arg) {
  const TensorView v = arg.tensor.layout();
  const bool floats = v.dtype == DType::kF32 || v.dtype == DType::kF64;
  if ((!floats && v.dtype != DType::kU8) || v.rank() < 2 || v.rank() > 3) {
    throw_error(
        "add_image",
        joined(tag, ": needs an image [C,H,W] or [H,W], float32 or float64 in 0..1 or uint8, ",
               "got ", type_text(v), v.rank() == 4 ? "; make_grid makes one of many" : ""),
        arg.where);
  }
  // Of one image a grid is that image, its one channel three times.
  const Tensor grid = data::make_grid(arg);
  const Tensor bytes = floats ? data::to_bytes(Arg(grid, arg.where)) : grid;
  const std::vector<uint8_t> png = data::encode_png(Arg(bytes, arg.where));
  const Shape& s = bytes.raw_shape();
  Message image;
  image.integer(1, s[1]).integer(2, s[2]).integer(3, s[0]);
  image.bytes(4, {reinterpret_cast<const char*>(png.data()), png.size()});
  return value_of(tag).message(kImage, image);
}

Message text_value(const std::string& tag, const std::string& text) {
  constexpr int kString = 7;  // DataType's DT_STRING
  Message tensor;
  tensor.integer(1, kString).message(2, Message().message(2, Message().integer(1, 1)));
  tensor.bytes(8, text);
  Message value = value_of(tag + "/text_summary");
  return value.message(kTensor, tensor).message(kMetadata, metadata("text", ""));
}

Message hparams_experiment(const HParams& hparams, const std::map<std::string, double>& metrics) {
  Message experiment;
  for (const auto& [name, value] : hparams) {
    constexpr int kTypes[] = {2, 3, 1};  // DataType: bool, float64, string, as HParam's order is
    experiment.message(4, Message().bytes(1, name).integer(4, kTypes[value.index()]));
  }
  for (const auto& [name, value] : metrics) {
    experiment.message(5, Message().message(1, Message().bytes(2, name)));
  }
  return hparams_value("_hparams_/experiment", 2, experiment);
}

Message hparams_begin(const HParams& hparams, double seconds) {
  Message begin;
  for (const auto& [name, value] : hparams) {
    Message v;  // google.protobuf.Value
    if (const bool* flag = std::get_if<bool>(&value)) v.integer(4, *flag ? 1 : 0);
    if (const double* number = std::get_if<double>(&value)) v.real(2, *number);
    if (const auto* text = std::get_if<std::string>(&value)) v.bytes(3, *text);
    begin.message(1, Message().bytes(1, name).message(2, v));
  }
  begin.real(5, seconds);
  return hparams_value("_hparams_/session_start_info", 3, begin);
}

Message hparams_end(double seconds) {
  constexpr int kSuccess = 1;
  return hparams_value("_hparams_/session_end_info", 4,
                       Message().integer(1, kSuccess).real(2, seconds));
}

}  // namespace wick::board
