#include "runtime/kernels/conv/conv_tiles.h"
#include "runtime/core/int_math.h"

#include <algorithm>
#include <cstring>

namespace wick {
namespace {

constexpr int64_t kPixelChunk = 384;    // flattened pixels kept in L1 while the channels pass
constexpr int64_t kChannelChunk = 128;  // pixels that share a pass over a panel of weights

Epilogue region(const ConvTiles& c, int64_t channel, int64_t row, int64_t col, int64_t image = 0) {
  Epilogue e = c.epilogue;
  if (e.residual != nullptr) {
    e.residual += image * c.out_image + channel * c.out_channel + row * c.out_row + col * c.out_col;
  }
  return e;
}

// The division of a plane: `chunks` parts of its pixels times `splits` parts of its channels.
struct Cut {
  int64_t chunk, chunks, split, splits;
  int64_t by_image = 0;  // for pixel tiles: chunks of one image
};

Cut cut(const ConvTiles& c, int wanted) {
  const TileKernels& t = *c.kernels;
  Cut r;
  int64_t units;
  if (c.by_channel) {
    const int64_t pixels = c.images * c.rows * c.cols;
    // Chunks of equal size: 196 pixels are 2 x 98 rather than 128 + 68.
    r.chunk = round_up(ceil_div(pixels, ceil_div(pixels, kChannelChunk)), t.mr);
    r.chunks = ceil_div(pixels, r.chunk);
    units = ceil_div(c.channels, conv_panel_cols(t, c.channels));
  } else {
    r.chunk = std::clamp<int64_t>(kPixelChunk / c.x_row, 1, c.rows);
    r.by_image = ceil_div(c.rows, r.chunk);
    r.chunks = c.images * r.by_image;
    units = ceil_div(c.channels, t.mr);
  }
  const int64_t splits = r.chunks >= 2 * wanted ? 1 : std::min<int64_t>(units, wanted);
  r.split = ceil_div(units, splits);
  r.splits = ceil_div(units, r.split);
  return r;
}

bool is_clip(Activation act) {
  return act == Activation::kNone || act == Activation::kRelu || act == Activation::kClip;
}

// Pixel tiles that stop at the end of each output row need no second pass over their results, but
// fill their last vector less well. Compares costs in multiply-adds of a vector.
bool rows_are_faster(const ConvTiles& c) {
  constexpr int64_t kTile = 6, kPass = 5;  // a tile's overhead, per row; the pass, per vector
  const TileKernels& t = *c.kernels;
  const int64_t row = ceil_div(c.cols, t.lanes), flat = (c.rows - 1) * c.x_row + c.cols;
  const int64_t by_row = c.rows * (row * c.k + ceil_div(c.cols, t.nr) * kTile);
  const int64_t at_once =
      ceil_div(flat, t.lanes) * c.k + ceil_div(flat, t.nr) * kTile + c.rows * row * kPass;
  return c.x_has_slack && by_row < at_once;
}

void pixel_rows(const ConvTiles& c, int64_t row0, int64_t row1, int64_t block0, int64_t block1) {
  const TileKernels& t = *c.kernels;
  TileArgs args = {};
  args.k = c.k;
  args.row_step = t.mr;
  args.vec_offset = c.offset;
  args.out_step = c.out_channel;
  Poll poll;
  for (int64_t b = block0; b < block1; ++b) {
    const int64_t channel = b * t.mr;
    args.row_count = static_cast<int>(std::min<int64_t>(t.mr, c.channels - channel));
    for (int r = 0; r < t.mr; ++r) args.rows[r] = c.weights + channel * c.k + r;
    for (int64_t i = row0; i < row1; ++i) {
      for (int64_t q = 0; q < c.cols; q += t.nr) {
        if (poll(4 * c.k)) return;
        args.cols = static_cast<int>(std::min<int64_t>(t.nr, c.cols - q));
        args.vec = c.x + i * c.x_row + q;
        args.out = c.out + channel * c.out_channel + i * c.out_row + q;
        Epilogue e = region(c, channel, i, q);
        e.residual_step = c.out_channel;
        t.tile_finish(args, e, channel);
      }
    }
  }
}

// Stores a row of outputs with stride `step`.
void store_apart(const float* from, int64_t count, const float* bias, float* out, int64_t step) {
  if (bias == nullptr) {
    for (int64_t j = 0; j < count; ++j) out[j * step] = from[j];
  } else {
    for (int64_t j = 0; j < count; ++j) out[j * step] = from[j] + *bias;
  }
}

void pixel_tiles(const ConvTiles& c, int64_t row0, int64_t row1, int64_t block0, int64_t block1,
                 float* scratch) {
  const TileKernels& t = *c.kernels;
  const int64_t begin = row0 * c.x_row;
  const int64_t count = (row1 - row0 - 1) * c.x_row + c.cols;
  // Without dropped columns a tile is written directly to the output.
  const bool in_place = c.x_row == c.cols && c.out_row == c.cols && c.out_col == 1;
  const bool clips = c.out_col == 1 && is_clip(c.epilogue.act);
  if (!in_place && clips && rows_are_faster(c)) {
    return pixel_rows(c, row0, row1, block0, block1);
  }
  const bool finishes = in_place && clips && !c.epilogue.empty();
  const int64_t flat_step = round_up(kPixelChunk + c.x_row, t.nr);
  const int64_t whole = c.x_has_slack ? count : count / t.lanes * t.lanes;
  float* tail = scratch + t.mr * flat_step;
  if (whole < count) {  // the last vector would read past the image: copy it
    for (int64_t k = 0; k < c.k; ++k) {
      memcpy(tail + k * t.lanes, c.x + begin + whole + c.offset[k],
             sizeof(float) * static_cast<size_t>(count - whole));
    }
  }
  TileArgs args = {};
  args.k = c.k;
  args.row_step = t.mr;
  args.vec_step = t.lanes;
  args.vec_offset = c.offset;
  Poll poll;
  for (int64_t b = block0; b < block1; ++b) {
    const int64_t channel = b * t.mr;
    args.row_count = static_cast<int>(std::min<int64_t>(t.mr, c.channels - channel));
    for (int r = 0; r < t.mr; ++r) args.rows[r] = c.weights + channel * c.k + r;
    float* flat = in_place ? c.out + channel * c.out_channel + row0 * c.out_row : scratch;
    args.out_step = in_place ? c.out_channel : flat_step;
    for (int64_t q = 0; q < whole; q += t.nr) {
      if (poll(4 * c.k)) return;
      args.cols = static_cast<int>(std::min<int64_t>(t.nr, whole - q));
      args.vec = c.x + begin + q;
      args.out = flat + q;
      if (finishes) {
        Epilogue e = region(c, channel, row0, q);
        e.residual_step = c.out_channel;
        t.tile_finish(args, e, channel);
      } else {
        t.tile_vec_table(args);
      }
    }
    if (whole < count) {
      args.cols = static_cast<int>(count - whole);
      args.vec = tail;
      args.out = flat + whole;
      t.tile(args);
    }
    if (in_place) {
      const int64_t done = finishes ? whole : 0;
      if (done < count && !c.epilogue.empty()) {
        Epilogue e = region(c, channel, row0, done);
        e.channel = Epilogue::Channel::kRow;
        e.residual_step = c.out_channel;
        t.finish(e, channel, flat + done, c.out_channel, flat + done, c.out_channel, args.row_count,
                 count - done);
      }
      continue;
    }
    for (int64_t r = 0; r < args.row_count; ++r) {
      float* out = c.out + (channel + r) * c.out_channel + row0 * c.out_row;
      const float* from = flat + r * flat_step;
      if (c.out_col == 1) {
        Epilogue e = region(c, channel + r, row0, 0);
        e.channel = Epilogue::Channel::kWhole;
        e.residual_step = c.out_row;
        t.finish(e, channel + r, from, c.x_row, out, c.out_row, row1 - row0, c.cols);
      } else {
        const float* bias = c.epilogue.bias;
        for (int64_t i = 0; i < row1 - row0; ++i) {
          store_apart(from + i * c.x_row, c.cols, bias == nullptr ? nullptr : bias + channel + r,
                      out + i * c.out_row, c.out_col);
        }
      }
    }
  }
}

// A position in a walk over the pixels of all images.
struct PixelWalk {
  const ConvTiles& c;
  int64_t image, row, col;

  PixelWalk(const ConvTiles& tiles, int64_t pixel)
      : c(tiles),
        image(pixel / (tiles.rows * tiles.cols)),
        row(pixel / tiles.cols % tiles.rows),
        col(pixel % tiles.cols) {}
  const float* x() const { return c.x + image * c.x_image + row * c.x_row + col * c.x_col; }
  int64_t out() const { return image * c.out_image + row * c.out_row + col * c.out_col; }
  int64_t left() const { return (c.rows - row) * c.cols - col; }  // in this image
  void step() {
    if (++col < c.cols) return;
    col = 0;
    if (++row < c.rows) return;
    row = 0, ++image;
  }
  void step(int64_t n) {
    for (int64_t i = 0; i < n; ++i) step();
  }
};

// Transposes a tile [pixel][channel] to its place in the output, where an image's pixels are
// contiguous.
void store_turned(const ConvTiles& c, PixelWalk at, const float* tile, int64_t step, int pixels,
                  int64_t channel, int64_t channels) {
  for (int64_t r = 0; r < pixels;) {
    const int64_t n = std::min<int64_t>(pixels - r, at.left());
    c.kernels->transpose(tile + r * step, step, c.out + channel * c.out_channel + at.out(),
                         c.out_channel, n, channels);
    r += n;
    if (r < pixels) at.step(n);
  }
}

void finish_panel(const ConvTiles& c, int64_t pixel0, int64_t pixel1, int64_t channel,
                  int64_t channels) {
  const int64_t plane = c.rows * c.cols;
  for (int64_t p = pixel0; p < pixel1;) {
    const int64_t image = p / plane, n = std::min(pixel1, (image + 1) * plane) - p;
    Epilogue e = region(c, channel, 0, p % plane, image);
    e.channel = Epilogue::Channel::kRow;
    e.residual_step = c.out_channel;
    float* out = c.out + image * c.out_image + channel * c.out_channel + p % plane;
    c.kernels->finish(e, channel, out, c.out_channel, out, c.out_channel, channels, n);
    p += n;
  }
}

void channel_tiles(const ConvTiles& c, int64_t pixel0, int64_t pixel1, int64_t panel0,
                   int64_t panel1, float* tile) {
  const TileKernels& t = *c.kernels;
  const int64_t panel_cols = conv_panel_cols(t, c.channels);
  const bool contiguous = c.out_col == 1 && c.out_row == c.cols;
  // For maps of one pixel the tile has the output's layout.
  const bool in_place = c.rows * c.cols == 1 && c.out_channel == 1;
  TileArgs args = {};
  args.k = c.k;
  args.row_offset = c.offset;
  args.vec_step = panel_cols;
  args.out = tile;
  args.out_step = in_place ? c.out_image : panel_cols;
  Poll poll;
  for (int64_t p = panel0; p < panel1; ++p) {
    const int64_t channel = p * panel_cols;
    const int64_t channels = std::min(panel_cols, c.channels - channel);
    args.vec = c.weights + channel * c.k;
    args.cols = static_cast<int>(in_place ? channels : round_up(channels, t.lanes));
    PixelWalk at(c, pixel0);
    for (int64_t pixel = pixel0; pixel < pixel1; pixel += t.mr) {
      if (poll(4 * c.k)) return;
      const PixelWalk first = at;
      args.row_count = static_cast<int>(std::min<int64_t>(t.mr, pixel1 - pixel));
      int64_t to[kMaxTileRows];
      for (int r = 0; r < args.row_count; ++r, at.step()) {
        args.rows[r] = at.x();
        to[r] = at.out();
      }
      if (in_place) args.out = c.out + channel + to[0];
      t.tile_row_table(args);
      if (in_place) continue;
      if (contiguous) {
        store_turned(c, first, tile, panel_cols, args.row_count, channel, channels);
      } else {
        float* out = c.out + channel * c.out_channel;
        const float* bias = c.epilogue.bias == nullptr ? nullptr : c.epilogue.bias + channel;
        for (int64_t n = 0; n < channels; ++n) {
          for (int r = 0; r < args.row_count; ++r) {
            const float sum = tile[r * panel_cols + n];
            out[n * c.out_channel + to[r]] = bias == nullptr ? sum : sum + bias[n];
          }
        }
      }
    }
    if (!c.epilogue.empty() && (contiguous || in_place))
      finish_panel(c, pixel0, pixel1, channel, channels);
  }
}

}  // namespace

int64_t conv_image_block(int64_t images, int64_t pixels, int64_t image_floats) {
  constexpr int64_t kFloats = int64_t{1} << 17;  // that stay in L2 beside the weights
  const int64_t most = std::min(images, kChannelChunk / std::max<int64_t>(pixels, 1));
  return std::clamp<int64_t>(kFloats / std::max<int64_t>(image_floats, 1), 1,
                             std::max<int64_t>(most, 1));
}

int64_t conv_panel_cols(const TileKernels& kernels, int64_t channels) {
  const int64_t vectors = ceil_div(channels, kernels.lanes);
  const int64_t panels = ceil_div(vectors, kernels.nr / kernels.lanes);
  return ceil_div(vectors, panels) * kernels.lanes;
}

size_t conv_weight_floats(const TileKernels& kernels, bool by_channel, int64_t channels,
                          int64_t k) {
  const int64_t unit = by_channel ? conv_panel_cols(kernels, channels) : kernels.mr;
  return static_cast<size_t>(round_up(round_up(channels, unit) * k, 16));
}

void conv_pack_weights(const TileKernels& kernels, bool by_channel, const float* w,
                       int64_t w_channel, const int32_t* tap, int64_t channels, int64_t k,
                       float* packed, int64_t unit) {
  if (unit == 0) unit = by_channel ? conv_panel_cols(kernels, channels) : kernels.mr;
  for (int64_t c = 0; c < channels; c += unit, packed += unit * k) {
    const int64_t n = std::min(unit, channels - c);
    const float* from = w + c * w_channel;
    if (tap == nullptr) {
      kernels.transpose(from, w_channel, packed, unit, n, k);
    } else {
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t r = 0; r < n; ++r) packed[i * unit + r] = from[r * w_channel + tap[i]];
      }
    }
    if (n < unit) {
      const size_t pad = sizeof(float) * static_cast<size_t>(unit - n);
      for (int64_t i = 0; i < k; ++i) memset(packed + i * unit + n, 0, pad);
    }
  }
}

int64_t conv_tile_tasks(const ConvTiles& c, int wanted) {
  const Cut r = cut(c, wanted);
  return r.chunks * r.splits;
}

size_t conv_tile_scratch_floats(const ConvTiles& c) {
  const TileKernels& t = *c.kernels;
  if (c.by_channel) return static_cast<size_t>(round_up(t.mr * t.nr, 16));
  return static_cast<size_t>(
      round_up(t.mr * round_up(kPixelChunk + c.x_row, t.nr) + c.k * t.lanes, 16));
}

void conv_tile_run(const ConvTiles& c, int wanted, int64_t task, float* scratch) {
  const Cut r = cut(c, wanted);
  const int64_t unit = task % r.splits * r.split;
  if (c.by_channel) {
    const int64_t chunk = task / r.splits * r.chunk;
    const int64_t panels = ceil_div(c.channels, conv_panel_cols(*c.kernels, c.channels));
    channel_tiles(c, chunk, std::min(c.images * c.rows * c.cols, chunk + r.chunk), unit,
                  std::min(panels, unit + r.split), scratch);
    return;
  }
  const int64_t blocks = ceil_div(c.channels, c.kernels->mr);
  const int64_t image = task / r.splits / r.by_image;
  const int64_t row = task / r.splits % r.by_image * r.chunk;
  ConvTiles one = c;
  one.x += image * c.x_image;
  one.out += image * c.out_image;
  if (one.epilogue.residual != nullptr) one.epilogue.residual += image * c.out_image;
  pixel_tiles(one, row, std::min(c.rows, row + r.chunk), unit, std::min(blocks, unit + r.split),
              scratch);
}

bool conv_prefers_channels(const TileKernels& kernels, int64_t channels, int64_t k, int64_t rows,
                           int64_t cols, int64_t x_row) {
  // Compares the useful share of the multiply-adds of both ways; channel tiles also pay for the
  // transposed store, which costs about as much as 6 steps of k.
  const auto share = [](int64_t n, int64_t unit) {
    return static_cast<double>(n) / static_cast<double>(round_up(n, unit));
  };
  const double flat = static_cast<double>(round_up((rows - 1) * x_row + cols, kernels.lanes));
  const double by_pixel =
      static_cast<double>(rows * cols) / flat * share(channels, channels < 8 ? 2 : kernels.mr);
  const double by_channel = share(rows * cols, 2) * share(channels, kernels.lanes) *
                            static_cast<double>(k) / static_cast<double>(k + 6);
  return by_channel > by_pixel;
}

}  // namespace wick
