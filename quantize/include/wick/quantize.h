// Quantized models: a graph quantized after training, and a module trained with the rounding that
// it will have. Link Wick::quantize; it brings no ONNX and no protobuf. Example
// (tests/qat/alone.cc):
//
//   quantize::QatModule small(capture(net, {{"x", zeros({4, 8}), {{0, "batch"}}, {}}}));
//   for (int step = 0; step < 100; ++step) {
//     small.train();
//     const Tensor loss = mse_loss(small(x), y);
//     loss.backward();
//     adam.step();
//   }
//   small.freeze();
//
// Everything here throws wick::Error; wick/compile.h writes the graphs to files. For graphs:
//   quantize::choose     the best of the ways to choose ranges (quantize/choose/choose.h)
//   quantize::quantize_within   layers of several widths under a budget (quantize/choose/mixed.h)
//   quantize::quantize   weights and layers of a graph as integers (quantize/passes/quantize.h)
//   quantize::compare    what that costs, layer by layer (quantize/report/compare.h)
//   ir::lower_qdq        a QDQ graph as integer ops (graph/passes/lower_qdq.h)
// and with the trainer:
//   capture                    a module in eval mode -> graph (trainer/capture/capture.h)
//   quantize::quantize_model   a trained module as one of integers (quantize/modules/quantizer.h)
//   quantize::QatModule        trains with the rounding in place (quantize/qat/qat_module.h)
#pragma once

#include "graph/passes/lower_qdq.h"
#include "quantize/choose/choose.h"
#include "quantize/choose/mixed.h"
#include "quantize/passes/quantize.h"
#include "quantize/report/compare.h"
#ifdef WICK_WITH_TRAINER
#include "quantize/modules/quantizer.h"
#include "quantize/qat/qat_module.h"
#include "trainer/capture/capture.h"
#endif
