// Reading .tflite files: each operator against answers that NumPy computed, what the graphs look
// like, and files at fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/exporter/tflite_files.h"
#include "tests/runtime/programs.h"
#include "tests/support/error_of.h"
#include "wick/compile.h"

namespace wick {
namespace {

using test::error_of;
using test::file_bytes;
using test::tflite_cases;
using test::tflite_folder;
using test::TfliteCase;
using testing::HasSubstr;

// Returns what is wrong, "" if nothing is: floats may be 1e-5 of the largest apart, whole numbers
// so many steps.
std::string apart(const HostTensor& got, const HostTensor& want, int64_t steps) {
  if (got.dtype() != want.dtype() || !(got.shape() == want.shape()))
    return std::string(dtype_name(got.dtype())) + to_text(got.shape()).text + " instead of " +
           dtype_name(want.dtype()) + to_text(want.shape()).text;
  double largest = 1;
  for (int64_t i = 0; i < want.numel(); ++i)
    largest = std::max(largest, std::fabs(element_as_double(want, i)));
  const double bound = is_float(want.dtype()) ? 1e-5 * largest : static_cast<double>(steps);
  for (int64_t i = 0; i < want.numel(); ++i) {
    const double a = element_as_double(got, i), b = element_as_double(want, i);
    if (!(std::fabs(a - b) <= bound))
      return "element " + std::to_string(i) + " is " + std::to_string(a) + " instead of " +
             std::to_string(b);
  }
  return "";
}

void expect_answers(const std::vector<HostTensor>& got, const TfliteCase& c, int64_t steps,
                    const char* how) {
  ASSERT_EQ(got.size(), c.out.size()) << how;
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(apart(got[i], c.out[i], steps), "") << how << ", output " << i;
}

std::vector<HostTensor> in_a_session(const ir::Graph& g, Span<const HostTensor> inputs) {
  const std::vector<uint8_t> file = compile_program(g);
  const test::AlignedBytes bytes = test::aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
  EXPECT_TRUE(program.ok()) << program.status().message();
  auto session = Session::create(**program);
  EXPECT_TRUE(session.ok()) << session.status().message();
  std::vector<TensorView> in, out((*session)->output_count());
  for (const HostTensor& t : inputs) in.push_back(t.view());
  const Status ran = (*session)->run(in, out);
  EXPECT_TRUE(ran.ok()) << ran.message();
  std::vector<HostTensor> results;
  for (const TensorView& v : out) results.emplace_back(v.dtype, v.shape, v.data, v.nbytes());
  return results;
}

TEST(Tflite, SmallFilesGiveNumpysAnswers) {
  EXPECT_GE(tflite_cases().size(), 140u);
  for (const auto& [name, c] : tflite_cases()) {
    SCOPED_TRACE(name);
    const std::string path = tflite_folder() + name + ".tflite";
    const ir::Graph floats = import_tflite(path);
    ir::verify(floats, "as it was read");
    // Between Q and DQ a layer of floats rounds once more than the rule does.
    expect_answers(ir::run(floats, c.in), c, c.steps + 1, "as floats");
    const ir::Graph lowered = import_tflite(path, {.lower_qdq = true});
    const std::vector<HostTensor> got = ir::run(lowered, c.in);
    expect_answers(got, c, std::max<int64_t>(c.steps, 0), "lowered");
    const std::vector<HostTensor> again = in_a_session(lowered, c.in);
    ASSERT_EQ(again.size(), got.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(same_bits(again[i], got[i])) << "a session's output " << i;
  }
}

TEST(Tflite, GraphsAreWrittenAsOnnx) {
  for (const auto& [name, c] : tflite_cases()) {
    SCOPED_TRACE(name);
    const ir::Graph g = import_tflite(tflite_folder() + name + ".tflite");
    const ir::Graph back = import_onnx_bytes(onnx_bytes(g));
    const auto want = ir::run(g, c.in), got = ir::run(back, c.in);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << i;
  }
}

int count(const ir::Graph& g, OpId op) {
  return static_cast<int>(std::count_if(g.nodes().begin(), g.nodes().end(),
                                        [&](const ir::Node& n) { return n.op == op; }));
}

// One way in and one way out: what stands between works on planes.
TEST(Tflite, ImagesStayPlanes) {
  ir::Graph g = import_tflite(tflite_folder() + "planes.tflite");
  // The input twice (convolved, and joined later) is one transpose; the image that is an output one
  // more.
  EXPECT_EQ(count(g, OpId::kTranspose), 2) << ir::print(g);
  EXPECT_EQ(g.value(g.inputs()[0]).name, "x");
  EXPECT_EQ(to_text(to_static(g.value(g.inputs()[0]).shape)).text, std::string("[1,6,6,3]"));
  EXPECT_EQ(to_text(to_static(g.value(g.outputs()[1].value).shape)).text, std::string("[1,4,6,7]"));
}

TEST(Tflite, QuantizedLayersBecomeIntegers) {
  const std::map<std::string, OpId> ops = {{"int8_conv_2d", OpId::kQLinearConv},
                                           {"int8_conv_2d_relu6", OpId::kQLinearConv},
                                           {"int8_depthwise_conv_2d", OpId::kQLinearConv},
                                           {"uint8_conv_2d", OpId::kQLinearConv},
                                           {"int8_fully_connected", OpId::kQGemm},
                                           {"int8_average_pool_2d", OpId::kQLinearAveragePool},
                                           {"int8_mean", OpId::kQLinearGlobalAveragePool},
                                           {"int8_softmax", OpId::kQLinearSoftmax},
                                           {"int8_logistic", OpId::kByteTable},
                                           {"int8_quantize", OpId::kByteTable},
                                           {"uint8_concatenation", OpId::kByteTable},
                                           {"int8_max_pool_2d", OpId::kMaxPool},
                                           {"int8_pad", OpId::kPad}};
  for (const auto& [name, op] : ops) {
    SCOPED_TRACE(name);
    ir::LowerReport report;
    const ir::Graph g =
        import_tflite(tflite_folder() + name + ".tflite", {.lower_qdq = true, .lowered = &report});
    EXPECT_GE(count(g, op), 1) << ir::print(g);
    EXPECT_EQ(report.text(), "");
    EXPECT_EQ(count(g, OpId::kQuantizeLinear) + count(g, OpId::kDequantizeLinear), 0)
        << ir::print(g);
  }
  ir::LowerReport report;
  import_tflite(tflite_folder() + "int16_fully_connected.tflite",
                {.lower_qdq = true, .lowered = &report});
  EXPECT_THAT(report.text(), HasSubstr("int16"));
}

TEST(Tflite, WeightsAreParametersUnderTheirNames) {
  const ir::Graph g = import_tflite(tflite_folder() + "dequantize_half_weights.tflite");
  EXPECT_EQ(count(g, OpId::kCast), 0);
  int parameters = 0;
  for (size_t v = 0; v < g.value_count(); ++v) {
    const ir::Value& value = g.value(static_cast<ir::ValueId>(v));
    parameters += value.parameter ? 1 : 0;
    if (value.parameter) {
      EXPECT_EQ(value.dtype, DType::kF32) << value.name;
      EXPECT_EQ(value.name[0], 't');
    }
  }
  EXPECT_EQ(parameters, 2);
}

TEST(Tflite, OutputsAreValuesOfTheirOwn) {
  const ir::Graph g = import_tflite(tflite_folder() + "outputs_and_names.tflite");
  std::vector<std::string> names = {g.value(g.inputs()[0]).name};
  for (const ir::GraphOutput& o : g.outputs()) names.push_back(o.name);
  EXPECT_THAT(names, testing::ElementsAre("same", "same_2", "same_3", "same_4"));
}

TEST(Tflite, FilesAtFaultAreRefusedByTheirPlace) {
  const std::map<std::string, std::string> errors = {
      {"unread_operators",
       "2 operator(s) of the TFLite model cannot be read:\n  custom operator 'Detect' (operator 0, "
       "which makes tensor 'y')\n  RNN (operator 1, which makes tensor 'z')"},
      {"complex_numbers", "tensor 0 'x': it is Complex64, which cannot be read"},
      {"two_results_of_one", "NEG (operator 1, 'y'): "},
      {"read_before_made",
       "ADD (operator 0, 'y'): tensor 1 'later': it is read before an operator makes it"},
      {"no_such_tensor", "ADD (operator 0, 'y'): there is no tensor 77, there are 2"},
      {"missing_input", "ADD (operator 0, 'y'): input 1 is missing"},
      {"short_constant", "tensor 1 'w': its buffer has 4 bytes, which float32 [2,3] does not"},
      {"scale_of_zero", "tensor 0 'x': its scale 0 is 0, and must be finite and > 0"},
      {"zero_point_of_another_type", "tensor 0 'x': its zero point 200 is no int8"},
      {"scales_of_no_axis", "tensor 0 'x': it has 2 scales along axis 1 of 2 dims"},
      {"result_of_many_scales", "it must have one scale, not one for each channel"},
      {"result_of_another_type", "its operator makes float32, the file declares int32"},
      {"bytes_without_a_scale", "TANH (operator 0, 'y'): "},
      {"activation_of_signs", "ADD (operator 0, 'y'): its activation is number 5"},
      {"reshape_to_more", "RESHAPE (operator 0, 'y'): "},
      {"axis_outside", "MEAN (operator 0, 'y'): axis 2 of 2 dims"},
      {"axes_at_run_time", "MEAN (operator 0, 'y'): input 1 must be known before it runs"},
      {"image_of_two_dims",
       "AVERAGE_POOL_2D (operator 0, 'y'): input 0 has 2 dims, it must have 4"},
      {"stride_of_zero", "MAX_POOL_2D (operator 0, 'y'): its kernel, strides and dilations"},
      {"channels_differ", "CONV_2D (operator 0, 'y'): its input has 3 channels, its weight 2"},
      {"bias_of_ints", "its bias is int32, but its input and weight are not quantized"},
      {"shuffled_weights", "FULLY_CONNECTED (operator 0, 'y'): its weight is shuffled"},
      {"gather_in_batches", "GATHER (operator 0, 'y'): it gathers in batches"},
      {"slice_outside", "SLICE (operator 0, 'y'): its part of dim 1 is outside"},
      {"parts_of_another_size", "SPLIT_V (operator 0, 'y'): "},
      {"block_of_zero", "SPACE_TO_DEPTH (operator 0, 'y'): its block size must be 1 or more"},
      {"two_kinds_of_corners", "align_corners and half_pixel_centers exclude each other"},
      {"an_open_size", "tensor 0 'x': dim 0 of this input is -1, and must be known"},
      {"a_constant_as_input", "it is listed as an input, and has a value"},
      {"no_outputs", "TFLite model: it has no outputs"},
      {"bias_of_no_unit", "CONV_2D (operator 0, 'y'): its bias counts in units of 0"},
      {"scales_of_inputs", "CONV_2D (operator 0, 'y'): its weight has scales along axis 3"},
      {"options_of_another",
       "ADD (operator 0, 'y'): its options are damaged, or another operator's"},
  };
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tflite_folder() + "refused")) {
    const std::string name = entry.path().stem().string();
    ++files;
    ASSERT_EQ(errors.count(name), 1u) << name;
    const std::string why = error_of([&] { import_tflite(entry.path().string()); });
    EXPECT_THAT(why, HasSubstr(errors.at(name))) << name;
    EXPECT_THAT(why, HasSubstr(entry.path().string()));
  }
  EXPECT_EQ(files, errors.size());
}

TEST(Tflite, AnIdentifierSaysWhatAFileIs) {
  std::vector<uint8_t> bytes = file_bytes(tflite_folder() + "add.tflite");
  EXPECT_TRUE(is_tflite(bytes));
  EXPECT_FALSE(is_tflite({bytes.data(), 7}));
  std::vector<uint8_t> shifted(bytes.size() + 1);  // an address of no alignment
  std::copy(bytes.begin(), bytes.end(), shifted.begin() + 1);
  EXPECT_EQ(import_tflite_bytes({shifted.data() + 1, bytes.size()}).outputs().size(), 1u);
  bytes[7] = '4';
  EXPECT_FALSE(is_tflite(bytes));
  EXPECT_THAT(error_of([&] { import_tflite_bytes(bytes); }),
              HasSubstr("its identifier is not TFL3"));
  bytes[7] = '3';
  bytes.resize(bytes.size() / 2);
  EXPECT_THAT(error_of([&] { import_tflite_bytes(bytes); }), HasSubstr("the file is damaged"));
}

TEST(Tflite, BudgetsHold) {
  const std::string path = tflite_folder() + "planes.tflite";
  LedgerLimits spent;
  import_tflite(path, {.spent = &spent});
  EXPECT_GT(spent.bytes, 1000u);
  EXPECT_GT(spent.visits, 50u);
  EXPECT_THAT(error_of([&] { import_tflite(path, {.max_ram = 1000}); }),
              HasSubstr("TfliteReadOptions::max_ram"));
  EXPECT_THAT(error_of([&] { import_tflite(path, {.max_visits = 20}); }),
              HasSubstr("TfliteReadOptions::max_visits"));
}

// Every truncation, and other values of every byte, of every small file (of every eighth byte in
// `make test`): an error, or a graph that is sound.
TEST(TfliteAttack, AnErrorOrASoundGraph) {
  const bool full = getenv("WICK_TEST_FULL") != nullptr;
  const size_t step = full ? 1 : 8;
  size_t read = 0, refused = 0, number = 0;
  const auto import = [&](const std::vector<uint8_t>& bytes, const std::string& what) {
    try {
      ir::verify(import_tflite_bytes(bytes, {.lower_qdq = true}), "a changed file");
      ++read;
    } catch (const Error& e) {
      ++refused;
      EXPECT_STRNE(e.what(), "") << what;
      EXPECT_NE(e.code(), Code::kInternal) << what << ": " << e.what();
    } catch (const std::exception& e) {
      FAIL() << what << ": not an Error: " << e.what();
    }
  };
  for (const auto& entry : tflite_cases()) {
    const std::vector<uint8_t> whole = file_bytes(tflite_folder() + entry.first + ".tflite");
    const size_t first = number++ % step;
    for (size_t at = first; at < whole.size(); at += step) {
      const std::string what = entry.first + ", byte " + std::to_string(at);
      if (at % 4 == 0) import({whole.begin(), whole.begin() + static_cast<long>(at)}, what);
      for (const int change : {1, 0x80, 0xFF, 0x7F, 4}) {
        std::vector<uint8_t> bytes = whole;
        bytes[at] = static_cast<uint8_t>(bytes[at] ^ change);
        import(bytes, what);
        if (!full) break;
      }
    }
  }
  EXPECT_GT(read, 100u);
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace wick
