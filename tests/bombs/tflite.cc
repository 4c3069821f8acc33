// TensorFlow Lite files of at most 10 kB: parts that many others name, sizes that multiply.
#include "exporter/tflite/model_generated.h"
#include "tests/bombs/bomb.h"

namespace wick::bombs {
namespace {

namespace fbs = tflite::fbs;
using Builder = flatbuffers::FlatBufferBuilder;
using Ints = std::vector<int32_t>;
template <class T>
using At = flatbuffers::Offset<T>;

constexpr int8_t kAdd = 0, kConcatenation = 2, kPad = 34, kTile = 69, kFill = 94;

// A file, a line a part. Tensor 0 is the input x of float32; numbers of tensors and buffers count
// on.
class File {
 public:
  explicit File(const Ints& x) {
    buffers.push_back(fbs::CreateBuffer(b));
    tensor(x, "x");
  }
  int32_t tensor(const Ints& shape, const std::string& name, uint32_t buffer = 0,
                 fbs::TensorType type = fbs::TensorType::Float32) {
    const auto dims = b.CreateVector(shape);
    tensors.push_back(fbs::CreateTensor(b, dims, type, buffer, b.CreateSharedString(name)));
    return static_cast<int32_t>(tensors.size()) - 1;
  }
  uint32_t buffer(const void* data, size_t bytes) {
    const auto raw = b.CreateVector(static_cast<const uint8_t*>(data), bytes);
    buffers.push_back(fbs::CreateBuffer(b, raw));
    return static_cast<uint32_t>(buffers.size()) - 1;
  }
  int32_t ints(const Ints& values) {
    const uint32_t at = buffer(values.data(), values.size() * sizeof(int32_t));
    return tensor({static_cast<int32_t>(values.size())}, "", at, fbs::TensorType::Int32);
  }
  // An operator of one result, whose shape is not believed.
  int32_t op(int8_t code, At<flatbuffers::Vector<int32_t>> inputs) {
    const int32_t made = tensor({1}, "");
    const auto outputs = b.CreateVector(Ints{made});
    ops.push_back(fbs::CreateOperator(b, static_cast<uint32_t>(codes.size()), inputs, outputs));
    codes.push_back(fbs::CreateOperatorCode(b, code));
    return made;
  }
  int32_t op(int8_t code, const Ints& inputs) { return op(code, b.CreateVector(inputs)); }

  Bomb bomb(const std::string& name, const Ints& outputs, const std::string& refusal = {}) {
    const auto graph = fbs::CreateSubGraph(b, b.CreateVector(tensors), b.CreateVector(Ints{0}),
                                           b.CreateVector(outputs), b.CreateVector(ops));
    const auto graphs = b.CreateVector(&graph, 1);
    const auto all_codes = b.CreateVector(codes);
    const auto all_buffers = b.CreateVector(buffers);
    fbs::FinishModelBuffer(b, fbs::CreateModel(b, 3, all_codes, graphs, 0, all_buffers));
    return {name, {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()}, refusal};
  }

  Builder b;
  std::vector<At<fbs::Tensor>> tensors;
  std::vector<At<fbs::Buffer>> buffers;
  std::vector<At<fbs::Operator>> ops;
  std::vector<At<fbs::OperatorCode>> codes;
};

}  // namespace

std::vector<Bomb> tflite_bombs() {
  std::vector<Bomb> all;
  {  // one buffer that each of many constants has
    File f({1024});
    const std::vector<float> data(1024, 0.5F);
    const uint32_t shared = f.buffer(data.data(), data.size() * sizeof(float));
    int32_t at = 0;
    for (int k = 0; k < 40; ++k) at = f.op(kAdd, {at, f.tensor({1024}, "", shared)});
    all.push_back(f.bomb("tflite_one_buffer_of_many", {at}));
  }
  {  // a long name that each of many tensors has
    File f({2});
    const std::string name(4000, 'n');
    int32_t at = 0;
    for (int k = 0; k < 40; ++k) {
      const auto inputs = f.b.CreateVector(Ints{at, at});
      at = f.tensor({2}, name);
      const auto outputs = f.b.CreateVector(Ints{at});
      f.ops.push_back(fbs::CreateOperator(f.b, 0, inputs, outputs));
    }
    f.codes.push_back(fbs::CreateOperatorCode(f.b, kAdd));
    all.push_back(f.bomb("tflite_one_name_of_many", {at}));
  }
  {
    File f({1});
    const int32_t dims = f.ints({1 << 20, 1 << 20});
    all.push_back(f.bomb("tflite_fill", {f.op(kFill, {dims, 0})}));
  }
  {
    File f({1});
    const int32_t times = f.ints({INT32_MAX});
    int32_t at = 0;
    for (int k = 0; k < 4; ++k) at = f.op(kTile, {at, times});
    all.push_back(f.bomb("tflite_tiles_of_tiles", {at}, "TILE (operator "));
  }
  {  // a list of inputs that each of many operators has, whose sizes multiply
    File f({1});
    int32_t at = 0;
    for (int k = 0; k < 3; ++k) at = f.op(kConcatenation, Ints(300, at));
    const auto shared = f.b.CreateVector(Ints(600, at));
    for (int k = 0; k < 20; ++k) at = f.op(kConcatenation, shared);
    all.push_back(f.bomb("tflite_one_list_of_many", {at}));
  }
  {
    File f({1});
    int32_t at = 0;
    for (int k = 0; k < 9; ++k) at = f.op(kConcatenation, Ints(200, at));
    all.push_back(f.bomb("tflite_joined_to_the_ninth", {at}, "CONCATENATION (operator "));
  }
  {
    File f({1, 1, 1, 1});
    const Ints most(8, INT32_MAX);
    const uint32_t data = f.buffer(most.data(), most.size() * sizeof(int32_t));
    const int32_t pads = f.tensor({4, 2}, "", data, fbs::TensorType::Int32);
    all.push_back(f.bomb("tflite_pads", {f.op(kPad, {0, pads})}, "PAD (operator "));
  }
  {  // one table that a list names over and over
    File f({2});
    const auto one = f.tensors[0];
    f.tensors.assign(2000, one);
    all.push_back(f.bomb("tflite_one_table_of_many", {0}, "names tables more than once"));
  }
  {
    File f({2});
    const int32_t y = f.op(kAdd, {0, 0});
    all.push_back(f.bomb("tflite_outputs", Ints(2000, y)));
  }
  {  // one tensor of a long name that is listed as an output over and over
    File f({2});
    const auto inputs = f.b.CreateVector(Ints{0, 0});
    const int32_t y = f.tensor({2}, std::string(900, 'n'));
    const auto outputs = f.b.CreateVector(Ints{y});
    f.ops.push_back(fbs::CreateOperator(f.b, 0, inputs, outputs));
    f.codes.push_back(fbs::CreateOperatorCode(f.b, kAdd));
    all.push_back(f.bomb("tflite_outputs_of_one_name", Ints(2000, y), "max_ram"));
  }
  return all;
}

}  // namespace wick::bombs
