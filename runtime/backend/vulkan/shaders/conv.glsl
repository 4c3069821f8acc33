// Shared by both convolutions: their input x[N, C, H, W] and weight w[O, C/group, KH, KW].
layout(constant_id = 4) const uint kKernelH = 1;
layout(constant_id = 5) const uint kKernelW = 1;
layout(constant_id = 6) const uint kStrideH = 1;
layout(constant_id = 7) const uint kStrideW = 1;
layout(constant_id = 8) const uint kDilationH = 1;
layout(constant_id = 9) const uint kDilationW = 1;

// rows: output channels of a group; columns: output pixels; depth: C/group * KH * KW;
// batches: images * groups.
layout(push_constant) uniform Push {
  uint rows, columns, depth, batches;
  float alpha, beta;
  uint groups, height, width, out_width;
  int pad_h, pad_w;
};

// Returns element k of the patch under output pixel `pixel`; a padded tap is 0.
float tap(uint batch, uint k, uint pixel) {
  uint kw = k % kKernelW;
  uint kh = (k / kKernelW) % kKernelH;
  uint channel = batch * (depth / (kKernelH * kKernelW)) + k / (kKernelH * kKernelW);
  int ih = int((pixel / out_width) * kStrideH + kh * kDilationH) - pad_h;
  int iw = int((pixel % out_width) * kStrideW + kw * kDilationW) - pad_w;
  if (ih < 0 || iw < 0 || ih >= int(height) || iw >= int(width)) return 0.0;
  return COMPUTE(x[(channel * height + uint(ih)) * width + uint(iw)]);
}
