#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "byte_product.glsl"

// A convolution of bytes with few output channels per group (depthwise), where tiles would be mostly empty: an
// invocation computes one result, or four neighbouring ones, which form a word of bytes.
layout(local_size_x = WICK_FLAT_SIZE) in;

layout(push_constant) uniform Push {
  uint rows, columns, depth, batches;
  uint groups;
  int known_zero;
  int y_zero, y_low;
  uint flags;
  uint height, width, out_width, stride_h, stride_w, dilation_h, dilation_w;
  int pad_h, pad_w;
  uint kernel_h, kernel_w;
};

int signed_byte(uint word, uint at) { return bitfieldExtract(int(word), int((at & 3u) * 8u), 8); }

uint result_at(uint i) {
  uint pixel = i % columns, row = i / columns % rows, batch = i / columns / rows;
  uint channel = batch % groups * rows + row, channels = groups * rows;
  uint channels_in = depth / (kernel_h * kernel_w);
  int of_weight = int(table[channels + channel]), sum = 0;
  int h0 = int(pixel / out_width * stride_h) - pad_h, w0 = int(pixel % out_width * stride_w) - pad_w;
  uint at = channel * depth;
  int zero = zero_of(known_zero, flags);
  uint flip_left = (flags & WICK_BYTES_LEFT_UNSIGNED) != 0 ? 0x80808080u : 0u;
  uint flip_right = (flags & WICK_BYTES_RIGHT_UNSIGNED) != 0 ? 0x80808080u : 0u;
  for (uint c = 0; c < channels_in; ++c) {
    for (uint kh = 0; kh < kernel_h; ++kh) {
      int ih = h0 + int(kh * dilation_h);
      uint row_at = ((batch * channels_in + c) * height + uint(ih)) * width;
      for (uint kw = 0; kw < kernel_w; ++kw, ++at) {
        int iw = w0 + int(kw * dilation_w);
        if (uint(ih) >= height || uint(iw) >= width) continue;
        int w = signed_byte(left[at >> 2] ^ flip_left, at);
        uint from = row_at + uint(iw);
        sum += (w - of_weight) * (signed_byte(right[from >> 2] ^ flip_right, from) - zero);
      }
    }
  }
  return result_of(sum, channel, (flags & WICK_BYTES_BIAS) != 0, y_zero, y_low);
}

void main() {
  uint n = batches * rows * columns, per = kResult == WICK_BYTES_TO_BYTES ? 4 : 1, words = (n + per - 1) / per;
  for (uint i = gl_GlobalInvocationID.x; i < words; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint bits = 0;
    for (uint j = 0; j < per && i * per + j < n; ++j) bits |= result_at(i * per + j) << (j * 8u);
    y[i] = bits;
  }
}
