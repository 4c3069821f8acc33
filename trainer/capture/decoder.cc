#include "trainer/capture/decoder.h"

#include <algorithm>

#include "trainer/capture/capture.h"
#include "trainer/tensor/compose.h"
#include "wick/error.h"

namespace wick {
namespace {

// The cache as tensors that a graph takes and returns: whole buffers, with the tokens first, so
// that new rows are written by one ScatterND, which a session does in place.
class TracedCache final : public nn::KvStore {
 public:
  // `given`: length, then keys and values of each layer.
  explicit TracedCache(std::vector<Tensor> given) : now_(std::move(given)) {}

  Tensor positions(const Arg& tokens) override {
    const At at(tokens);
    // Gather and ScatterND count indices below 0 from the end. A length that a user wrote may be
    // below 0: it becomes one that no buffer has, and the run fails as beyond the end.
    constexpr int64_t kNowhere = (int64_t{1} << 52) - 1;
    const int64_t most = now_[1].raw_shape()[0];
    const Tensor length = bitwise_and(at(clamp(at(now_[0]), -1, most)), kNowhere);
    places_ = add(at(length), at(arange(tokens.tensor.size(1, tokens.where), DType::kI64)));
    return places_;
  }
  Tensor seen(const Tensor& positions, const Where& where) override {
    const At at(where);
    const Tensor keys = arange(now_[1].raw_shape()[0], DType::kI64, where);
    return le(at(keys.unsqueeze(0, where)), at(positions.unsqueeze(1, where)));
  }
  nn::KeysValues extend(int64_t layer, const Tensor& key, const Tensor& value,
                        const Where& where) override {
    const At at(where);
    // Under autocast rows have 16 bits, and a buffer of float32 holds them exactly.
    auto extended = [&](Tensor& buffer, const Tensor& rows) {
      const Tensor as_kept = rows.permute({2, 0, 1, 3}, where).to(buffer.dtype(), where);
      buffer = index_copy(at(buffer), 0, at(places_), at(as_kept));
      return buffer.permute({1, 2, 0, 3}, where).to(rows.dtype(), where);
    };
    const auto i = static_cast<size_t>(2 * layer);
    return {extended(now_[i + 1], key), extended(now_[i + 2], value)};
  }
  void advance() override { now_[0] = places_.select(0, -1).unsqueeze(0) + 1; }

  // Returns what it has become, in the order of the constructor.
  const std::vector<Tensor>& now() const { return now_; }

 private:
  std::vector<Tensor> now_;
  Tensor places_;
};

ir::Entry entry_of(nn::GPT& model, const std::string& name, bool any_length, int64_t most,
                   int64_t max_batch, const Where& where) {
  const nn::GptOptions& o = model.options();
  const Tensor& weight = model.token_embedding->weight;
  const DynamicDim batch = {0, "batch", 1, max_batch}, time = {1, "time", 1, most};
  const int64_t rows = std::min<int64_t>(2, max_batch),
                count = any_length ? std::min<int64_t>(3, most) : 1;
  std::vector<int64_t> some(static_cast<size_t>(rows * count));
  for (size_t i = 0; i < some.size(); ++i) some[i] = static_cast<int64_t>(i) % o.vocab_size;
  CaptureInput tokens = {"tokens", from_blob(some.data(), {rows, count}, DType::kI64)};
  if (max_batch > 1) tokens.dynamic.push_back(batch);
  if (any_length && most > 1) tokens.dynamic.push_back(time);
  std::vector<CaptureInput> inputs = {tokens, {"length", zeros({1}, DType::kI64)}};
  CaptureOptions options;
  options.outputs = {"logits", "length.next"};
  ir::Entry entry = {name, {}, {{"length", "length", "length.next"}}};
  for (int64_t layer = 0; layer < o.num_layers; ++layer) {
    for (const char* what : {"keys.", "values."}) {
      const std::string buffer = what + std::to_string(layer);
      CaptureInput in = {
          buffer, zeros({most, rows, o.num_heads, o.embed_dim / o.num_heads}, weight.dtype())};
      if (max_batch > 1) in.dynamic.push_back({1, "batch", 1, max_batch});
      inputs.push_back(in);
      options.outputs.push_back(buffer + ".next");
      entry.states.push_back({buffer, buffer, buffer + ".next"});
    }
  }
  entry.graph = capture_call(
      model, inputs,
      [&](const std::vector<Tensor>& in) {
        TracedCache cache({in.begin() + 1, in.end()});
        std::vector<Tensor> out = {model({in[0], where}, cache)};
        out.insert(out.end(), cache.now().begin(), cache.now().end());
        return out;
      },
      options);
  return entry;
}

}  // namespace

std::vector<ir::Entry> capture_decoder(nn::GPT& model, const DecoderOptions& options, Where where) {
  const int64_t most = options.max_seq_len == 0 ? model.options().max_seq_len : options.max_seq_len;
  if (most < 1 || most > model.options().max_seq_len || options.max_batch < 1) {
    throw_error("capture_decoder",
                "max_seq_len must be 1 to the model's " +
                    std::to_string(model.options().max_seq_len) + " and max_batch positive, got " +
                    std::to_string(most) + " and " + std::to_string(options.max_batch),
                where);
  }
  return {entry_of(model, "prefill", true, most, options.max_batch, where),
          entry_of(model, "decode", false, most, options.max_batch, where)};
}

}  // namespace wick
