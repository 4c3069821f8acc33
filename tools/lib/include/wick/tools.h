// The parts of the command `wick`, for other programs: models opened by their content, data to
// calibrate with, the time of each node, and where two runs differ. Link Wick::tools. Example
// (tests/tools_lib/library_test.cc):
//
//   const tool::Model a = tool::Model::open(first), b = tool::Model::open(second);
//   tool::NodeTrace values_a, values_b;
//   tool::Runner run_a(a, {.trace = &values_a}), run_b(b, {.trace = &values_b});
//   const tool::Sample made = tool::sample_inputs(run_a.session(), a.program(), {.batch = 3});
//   const std::vector<HostTensor> x = made.inputs;
//   const tool::Difference d = tool::difference(run_a.run(x)[0], run_b.run(x)[0]);
//   if (!d.bits) std::puts(tool::first_difference(values_a, values_b, 0).c_str());
//
// Everything here throws wick::Error; an invalid size or name in a request is a tool::UsageError,
// which names the command line's option.
//   Model, Runner        a .wick or ONNX file, its session, and a backend (tools/lib/model.h)
//   sample_inputs        made-up numbers for a model's inputs (tools/lib/sample_inputs.h)
//   make_state, write_state   what a program keeps between runs (tools/lib/kept_state.h)
//   named_arrays         arrays of files as a session's inputs (tools/lib/arrays.h)
//   open_data            batches to calibrate with or to score (tools/lib/calibration_data.h)
//   accuracy_of, time_in_turn   a model before and after (tools/lib/measure.h)
//   NodeTimes            how long each node takes (tools/lib/node_times.h)
//   NodeTrace, first_difference   the first node that differs in two runs (tools/lib/node_trace.h)
//   count_by_node        a quantized model compared with ONNX Runtime (tools/lib/node_counts.h)
#pragma once

#include "tools/lib/arrays.h"
#include "tools/lib/calibration_data.h"
#include "tools/lib/difference.h"
#include "tools/lib/kept_state.h"
#include "tools/lib/measure.h"
#include "tools/lib/model.h"
#include "tools/lib/node_counts.h"
#include "tools/lib/node_times.h"
#include "tools/lib/node_trace.h"
#include "tools/lib/sample_inputs.h"
#include "tools/lib/usage.h"
