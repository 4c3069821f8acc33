// What a product of bytes is told of its operands; GATHER: of a convolution.
layout(push_constant) uniform Push {
  uint rows, columns, depth, batches;
  uint groups;    // of a convolution: channels are groups * rows
  int zero;       // of the operand that is no weight
  int y_zero, y_low;
  uint flags;     // WICK_BYTES_: few pipelines serve all calls
#if GATHER
  uint height, width, out_width, stride_h, stride_w, dilation_h, dilation_w;
  int pad_h, pad_w;
  uint kernel_h, kernel_w;
#else
  uint batch_dims[4];
  uint left_strides[4];
  uint right_strides[4];
#endif
};
