#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/conv/conv_reach.h"

#include <algorithm>
#include <cstring>

namespace wick {
namespace {

constexpr int64_t kSlack = 64;             // in floats: no vector is longer
constexpr int64_t kDepthwiseChunk = 2048;  // flattened outputs that stay in L1 at a time

size_t bytes(int64_t floats) { return byte_count(sizeof(float) * static_cast<uint64_t>(floats)); }

int64_t image_floats(const ConvPlan& p) {
  if (!p.padded) return 0;
  // A run of taps that only reads padding reads one extra channel of zeros.
  const int64_t channels =
      p.path == ConvPlan::Path::kDepthwise ? 1 : p.shape.ic + (p.reach.whole() ? 0 : 1);
  return round_up(channels * p.image.channel_floats() + kSlack, 16);
}

int64_t table_floats(const ConvPlan& p) { return round_up(p.k, 16); }

// Describes group g of an image to the tiles.
ConvTiles group_tiles(const TileKernels& t, const ConvPlan& p, int64_t g, const float* image,
                      const int32_t* offset, const float* packed, float* y,
                      const Epilogue& epilogue) {
  const ConvShape& s = p.shape;
  ConvTiles c;
  c.kernels = &t;
  c.by_channel = p.path == ConvPlan::Path::kChannels;
  c.x_image = p.padded ? image_floats(p) : s.ic * s.h * s.w;
  c.out_image = s.oc * s.oh * s.ow;
  c.x = image + g * s.group_in() * p.image.channel_floats();
  c.x_has_slack = p.padded;
  c.x_row = c.by_channel ? s.stride_h * p.image.cols : p.image.cols;
  c.x_col = c.by_channel ? s.stride_w : 1;
  c.offset = offset;
  c.k = p.k;
  c.weights = packed == nullptr ? nullptr
                                : packed + g * static_cast<int64_t>(conv_weight_floats(
                                                   t, c.by_channel, s.group_out(), p.k));
  c.channels = s.group_out();
  c.rows = s.oh;
  c.cols = s.ow;
  c.out = y + g * s.group_out() * s.oh * s.ow;
  c.out_channel = s.oh * s.ow;
  c.out_row = s.ow;
  c.epilogue = epilogue;
  const int64_t channel = g * s.group_out();
  if (epilogue.bias != nullptr) c.epilogue.bias += channel;
  if (epilogue.scale != nullptr) c.epilogue.scale += channel, c.epilogue.shift += channel;
  if (epilogue.residual != nullptr) c.epilogue.residual += channel * c.out_channel;
  return c;
}

void fill_offsets(const ConvPlan& p, int32_t* offset) {
  const ConvShape& s = p.shape;
  if (!p.reach.whole()) return fill_reach_offsets(p, offset);
  const int64_t taps = s.taps();
  for (int64_t i = 0; i < s.kh; ++i) {
    for (int64_t j = 0; j < s.kw; ++j) {
      offset[i * s.kw + j] = static_cast<int32_t>(p.image.at(i * s.dilation_h, j * s.dilation_w));
    }
  }
  const auto channel = static_cast<int32_t>(p.image.channel_floats());
  for (int64_t t = taps; t < s.group_in() * taps; ++t) offset[t] = offset[t - taps] + channel;
}

void depthwise_channel(const TileKernels& t, const ConvPlan& p, const float* x, const float* w,
                       float* y, const Epilogue& epilogue, int64_t group, const int32_t* offset,
                       float* scratch) {
  const ConvShape& s = p.shape;
  float* flat = scratch + image_floats(p);
  pad_channels(t, p.image, x, 1, s.h, s.w, s.pad_top, s.pad_left, scratch);
  const int64_t wide = p.image.cols;
  const int64_t chunk = std::clamp<int64_t>(kDepthwiseChunk / wide, 1, s.oh);
  Poll poll;
  for (int64_t o = 0; o < s.group_out(); ++o) {
    const int64_t channel = group * s.group_out() + o;
    float* out = y + o * s.oh * s.ow;
    Epilogue e = epilogue;
    e.channel = Epilogue::Channel::kWhole;
    e.residual_step = s.ow;
    for (int64_t r = 0; r < s.oh; r += chunk) {
      if (poll(chunk * wide * p.k / 8 + 1)) return;
      const int64_t rows = std::min(chunk, s.oh - r);
      t.taps(scratch + r * wide, offset, w + channel * p.k, p.k, flat, (rows - 1) * wide + s.ow);
      if (epilogue.residual != nullptr) {
        e.residual = epilogue.residual + (channel * s.oh + r) * s.ow;
      }
      t.finish(e, channel, flat, wide, out + r * s.ow, s.ow, rows, s.ow);
    }
  }
}

int64_t task_scratch_floats(const TileKernels& t, const ConvPlan& p) {
  if (p.path == ConvPlan::Path::kDepthwise) {
    return image_floats(p) + round_up(kDepthwiseChunk + p.image.cols + kSlack, 16);
  }
  const ConvTiles c = group_tiles(t, p, 0, nullptr, nullptr, nullptr, nullptr, {});
  return static_cast<int64_t>(conv_tile_scratch_floats(c)) +
         (p.by_image ? p.block * image_floats(p) : 0);
}

void depthwise(const TileKernels& t, const ConvPlan& p, const float* x, const float* w, float* y,
               const Epilogue& epilogue, const int32_t* offset, float* scratch, ThreadPool* pool) {
  const ConvShape& s = p.shape;
  const int64_t total = s.n * s.groups;
  const int64_t tasks = std::min<int64_t>(total, pool == nullptr ? 1 : 4 * pool->threads());
  const int64_t per_task = task_scratch_floats(t, p);
  const int64_t plane = s.oh * s.ow;
  parallel_for(pool, tasks, [&](int64_t task, int worker) {
    Poll poll;
    for (int64_t i = task * total / tasks; i < (task + 1) * total / tasks; ++i) {
      if (poll(plane * p.k / 8 + 1)) return;
      Epilogue e = epilogue;
      if (e.residual != nullptr) e.residual += i / s.groups * s.oc * plane;
      depthwise_channel(t, p, x + i * s.h * s.w, w, y + i * s.group_out() * plane, e, i % s.groups,
                        offset, scratch + worker * per_task);
    }
  });
}

}  // namespace

// Returns whether the padding that kernels write per image is at most a few times what is read and
// computed.
bool in_proportion(const ConvShape& whole) {
  constexpr double kMost = 8, kFree = 1 << 16;
  const ConvShape s = cut_to_reach(conv_reach(whole), whole);
  const auto span = [](int64_t out, int64_t stride, int64_t kernel, int64_t dilation) {
    return static_cast<double>(out - 1) * static_cast<double>(stride) +
           static_cast<double>(kernel - 1) * static_cast<double>(dilation) + 1;
  };
  const auto ic = static_cast<double>(s.ic), oc = static_cast<double>(s.oc);
  const double written =
      ic * span(s.oh, s.stride_h, s.kh, s.dilation_h) * span(s.ow, s.stride_w, s.kw, s.dilation_w);
  const double read = ic * static_cast<double>(s.h) * static_cast<double>(s.w);
  const double computed = oc * static_cast<double>(s.oh) * static_cast<double>(s.ow) *
                          static_cast<double>(s.group_in()) * static_cast<double>(whole.taps());
  return written <= kMost * (read + computed) + kFree;
}

bool conv_supported(const ConvShape& s) {
  constexpr double kMax = 2e9;
  const double rows = static_cast<double>(s.oh * s.stride_h + s.kh * s.dilation_h + s.stride_h);
  const double cols = static_cast<double>(s.ow * s.stride_w + s.kw * s.dilation_w + s.stride_w);
  return static_cast<double>(s.group_in()) * rows * cols < kMax &&
         static_cast<double>(s.group_in()) * static_cast<double>(s.h * s.w) < kMax &&
         s.group_in() > 0 && in_proportion(s);
}

ConvPlan conv_plan(const TileKernels& kernels, const ConvShape& whole, int threads) {
  const ConvShape s = cut_to_reach(conv_reach(whole), whole);
  const int64_t span_w = (s.ow - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1;
  ConvPlan::Path path = ConvPlan::Path::kPixels;
  if (s.group_in() == 1 && s.group_out() < 4 && s.groups > 1) {
    path = ConvPlan::Path::kDepthwise;
  } else if (conv_prefers_channels(kernels, s.group_out(), s.group_in() * s.taps(), s.oh, s.ow,
                                   ceil_div(span_w, s.stride_w))) {
    path = ConvPlan::Path::kChannels;
  }
  return conv_plan_for(whole, threads, path);
}

ConvPlan conv_plan_for(const ConvShape& whole, int threads, ConvPlan::Path path) {
  ConvPlan p;
  p.reach = conv_reach(whole);
  p.shape = cut_to_reach(p.reach, whole);
  p.path = path;
  const ConvShape& s = p.shape;
  p.k = p.reach.whole() ? s.group_in() * s.taps() : count_reach_taps(p);
  const int64_t span_h = (s.oh - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1;
  const int64_t span_w = (s.ow - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1;
  const bool inside = s.pad_top == 0 && s.pad_left == 0 && span_h <= s.h && span_w <= s.w;
  const bool split = p.path != ConvPlan::Path::kChannels;
  p.padded = p.path == ConvPlan::Path::kDepthwise || !inside || !p.reach.whole() ||
             (split && (s.stride_h != 1 || s.stride_w != 1));
  if (p.padded) {
    p.image.split_h = split ? s.stride_h : 1;
    p.image.split_w = split ? s.stride_w : 1;
    p.image.planes_h = std::min(p.image.split_h, (s.kh - 1) * s.dilation_h + 1);
    p.image.planes_w = std::min(p.image.split_w, (s.kw - 1) * s.dilation_w + 1);
    p.image.rows = ceil_div(span_h, p.image.split_h);
    p.image.cols = ceil_div(span_w, p.image.split_w);
  } else {
    p.image.rows = s.h;
    p.image.cols = s.w;
  }
  if (p.path == ConvPlan::Path::kChannels) {
    p.block = conv_image_block(s.n, s.oh * s.ow, s.ic * p.image.channel_floats());
  }
  const int64_t blocks = ceil_div(s.n, p.block);
  p.by_image =
      blocks >= threads && (threads == 1 || blocks % threads == 0 || blocks >= 4 * threads);
  return p;
}

size_t conv_packed_bytes(const TileKernels& kernels, const ConvPlan& p) {
  const ConvShape& s = p.shape;
  if (p.path == ConvPlan::Path::kDepthwise) return bytes(s.oc * p.k);
  const bool by_channel = p.path == ConvPlan::Path::kChannels;
  return sizeof(float) * conv_weight_floats(kernels, by_channel, s.group_out(), p.k) *
         static_cast<size_t>(s.groups);
}

void conv_pack(const TileKernels& kernels, const ConvPlan& p, const float* w, float* packed,
               ThreadPool* pool) {
  const ConvShape& s = p.shape;
  if (p.path == ConvPlan::Path::kDepthwise) {
    memcpy(packed, w, bytes(s.oc * p.k));
    return;
  }
  const bool by_channel = p.path == ConvPlan::Path::kChannels;
  const int64_t channels = s.group_out();
  const int64_t unit = by_channel ? conv_panel_cols(kernels, channels) : kernels.mr;
  const auto step = static_cast<int64_t>(conv_weight_floats(kernels, by_channel, channels, p.k));
  // Several panels per task: panels of small weights are not worth a task each.
  const int64_t some = std::max<int64_t>(1, 65536 / std::max<int64_t>(unit * p.k, 1)) * unit;
  const int64_t tasks = ceil_div(channels, some);
  parallel_for(pool, s.groups * tasks, [&](int64_t task, int) {
    const int64_t g = task / tasks, c = task % tasks * some, n = std::min(some, channels - c);
    float* to = packed + g * step + c * p.k;
    if (p.reach.whole()) {
      conv_pack_weights(kernels, by_channel, w + (g * channels + c) * p.k, p.k, nullptr, n, p.k, to,
                        unit);
    } else {
      pack_reach_weights(kernels, p, unit, w, c, n, to);
    }
  });
}

size_t conv_scratch_bytes(const TileKernels& kernels, const ConvPlan& p, int threads) {
  int64_t floats = table_floats(p) + threads * task_scratch_floats(kernels, p);
  if (!p.by_image && p.path != ConvPlan::Path::kDepthwise) floats += p.block * image_floats(p);
  return bytes(floats);
}

void conv(const TileKernels& kernels, const ConvPlan& p, const float* x, const float* packed,
          float* y, const Epilogue& epilogue, float* scratch, ThreadPool* pool) {
  const ConvShape& s = p.shape;
  if (s.n * s.oc * s.oh * s.ow == 0) return;
  auto* offset = reinterpret_cast<int32_t*>(scratch);
  fill_offsets(p, offset);
  scratch += table_floats(p);
  if (p.path == ConvPlan::Path::kDepthwise) {
    depthwise(kernels, p, x, packed, y, epilogue, offset, scratch, pool);
    return;
  }
  const int threads = pool == nullptr ? 1 : pool->threads();
  const int64_t in_floats = s.ic * s.h * s.w;
  const int64_t out_floats = s.oc * s.oh * s.ow;
  const int64_t per_task = task_scratch_floats(kernels, p);
  const auto pad = [&](int64_t n, int64_t c0, int64_t c1, float* to) {
    pad_channels(kernels, p.image, x + n * in_floats + c0 * s.h * s.w, c1 - c0, s.h, s.w, s.pad_top,
                 s.pad_left, to + c0 * p.image.channel_floats());
    if (c1 == s.ic && !p.reach.whole()) {
      memset(to + s.ic * p.image.channel_floats(), 0, bytes(p.image.channel_floats()));
    }
  };
  // The tiles of the first n images of a block.
  const auto tiles = [&](int64_t n, int64_t g, const float* image) {
    Epilogue e = epilogue;
    if (e.residual != nullptr) e.residual += n * out_floats;
    ConvTiles c = group_tiles(kernels, p, g, p.padded ? image : x + n * in_floats, offset, packed,
                              y + n * out_floats, e);
    c.images = std::min(p.block, s.n - n);
    return c;
  };
  const int64_t one = image_floats(p);
  if (p.by_image) {
    parallel_for(pool, ceil_div(s.n, p.block), [&](int64_t block, int worker) {
      const int64_t n = block * p.block;
      float* image = scratch + worker * per_task;
      const int64_t images = std::min(p.block, s.n - n);
      for (int64_t i = 0; p.padded && i < images; ++i) pad(n + i, 0, s.ic, image + i * one);
      for (int64_t g = 0; g < s.groups; ++g) {
        const ConvTiles c = tiles(n, g, image);
        const int64_t tasks = conv_tile_tasks(c, 1);
        for (int64_t task = 0; task < tasks && !stopped(); ++task)
          conv_tile_run(c, 1, task, image + p.block * one);
      }
    });
    return;
  }
  float* image = scratch;
  scratch += p.block * one;
  for (int64_t n = 0; n < s.n && !stopped(); n += p.block) {
    const int64_t images = std::min(p.block, s.n - n);
    if (p.padded) {
      const int64_t parts =
          s.ic * p.image.channel_floats() < 16384 ? 1 : std::min<int64_t>(s.ic, threads);
      parallel_for(pool, images * parts, [&](int64_t task, int) {
        const int64_t i = task / parts, part = task % parts;
        pad(n + i, part * s.ic / parts, (part + 1) * s.ic / parts, image + i * one);
      });
    }
    const int wanted = static_cast<int>(ceil_div(threads, s.groups));
    const int64_t per_group = conv_tile_tasks(tiles(n, 0, image), wanted);
    parallel_for(pool, per_group * s.groups, [&](int64_t task, int worker) {
      conv_tile_run(tiles(n, task / per_group, image), wanted, task % per_group,
                    scratch + worker * per_task);
    });
  }
}

}  // namespace wick
