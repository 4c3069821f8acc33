#include "trainer/distributed/pipeline/stage.h"

#include <map>

#include "trainer/distributed/comm/communicator.h"
#include "trainer/distributed/parallel/same_net.h"
#include "trainer/distributed/pipeline/pipe_steps.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

constexpr const char* kStageOp = "take_stage";

std::vector<size_t> checked_cuts(const nn::Sequential& net, int stages,
                                 const std::vector<int64_t>& given, const Where& where) {
  const auto modules = static_cast<size_t>(net.size());
  if (modules < static_cast<size_t>(stages)) {
    throw_error(kStageOp,
                std::to_string(modules) + " modules for " + std::to_string(stages) + " stages",
                where);
  }
  if (given.empty()) {
    std::vector<double> weights;
    for (const auto& [name, module] : net.children()) {
      double elements = 1;  // so that modules without parameters are spread, too
      for (const Tensor& p : module->parameters())
        elements += static_cast<double>(p.layout().numel());
      weights.push_back(elements);
    }
    return balanced_cuts(weights, stages);
  }
  std::vector<size_t> cuts(given.begin(), given.end());
  bool right =
      given.size() == static_cast<size_t>(stages - 1) && given[0] > 0 && given.back() < net.size();
  for (size_t i = 1; i < given.size(); ++i) right = right && given[i] > given[i - 1];
  if (!right) {
    throw_error(kStageOp,
                "cuts must be " + std::to_string(stages - 1) +
                    " ascending indices of modules behind the first, of " + std::to_string(modules),
                where);
  }
  return cuts;
}

// Sizes and text as messages, since ranks do not know each other's.
Tensor broadcast_bytes(Group group, const Tensor& mine, int root, const std::string& name,
                       const Where& where) {
  const Tensor size =
      full({1}, static_cast<double>(mine.defined() ? mine.layout().numel() : 0), DType::kI64);
  group.broadcast(size, root, {.name = name + " size"}, where);
  Tensor bytes = group.rank() == root
                     ? mine
                     : new_tensor(Shape{static_cast<int64_t>(size.item(where))}, DType::kU8, where);
  group.broadcast(bytes, root, {.name = name}, where);
  return bytes;
}

// The tables of a GPT, as its forward begins.
class GptInput : public nn::Module {
 public:
  GptInput(std::shared_ptr<nn::Module> tokens, std::shared_ptr<nn::Module> positions,
           double dropout)
      : tokens_(std::move(tokens)), positions_(std::move(positions)), dropout_(dropout) {
    register_module("token_embedding", tokens_);
    register_module("position_embedding", positions_);
  }
  Tensor forward(const Arg& x) override {
    const Tensor place = arange(x.tensor.size(1, x.where));
    const Tensor sum = (*tokens_)(x) + (*positions_)({place, x.where});
    return dropout({sum, x.where}, dropout_, training());
  }

 private:
  std::shared_ptr<nn::Module> tokens_, positions_;
  double dropout_;
};

// A block with the mask that GPT makes for all of them.
class GptMaskedBlock : public nn::Module {
 public:
  GptMaskedBlock(std::shared_ptr<nn::TransformerBlock> block, bool causal)
      : block_(std::move(block)), causal_(causal) {
    register_module("block", block_);
  }
  Tensor forward(const Arg& x) override {
    const Tensor place = arange(x.tensor.size(1, x.where));
    const Tensor mask = causal_ ? le(place.unsqueeze(0), place.unsqueeze(1)) : Tensor();
    return (*block_)(x, mask, nullptr);
  }

 private:
  std::shared_ptr<nn::TransformerBlock> block_;
  bool causal_;
};

}  // namespace

std::shared_ptr<nn::Sequential> take_stage(nn::Sequential& net, const Group& pipe,
                                           const std::vector<int64_t>& cuts, Where where) {
  std::vector<size_t> begins = checked_cuts(net, pipe.size(), cuts, where);
  begins.insert(begins.begin(), 0);
  begins.push_back(static_cast<size_t>(net.size()));
  auto stage_of = [&](size_t module) {
    size_t stage = 0;
    while (begins[stage + 1] <= module) ++stage;
    return stage;
  };
  std::map<uint64_t, std::pair<size_t, std::string>> owners;
  for (size_t i = 0; i < net.children().size(); ++i) {
    const auto& [name, module] = net.children()[i];
    for (const auto& [path, p] : module->named_parameters(name + ".")) {
      const auto [it, first] = owners.emplace(p.id(), std::pair(stage_of(i), path));
      if (first || it->second.first == stage_of(i)) continue;
      throw_error(
          kStageOp,
          "'" + it->second.second + "' and '" + path + "' are one parameter, and lie in two stages",
          where, Code::kUnsupported);
    }
  }
  Group group = pipe;
  make_same(group, net, 0, where);
  auto stage = std::make_shared<nn::Sequential>();
  std::vector<std::string> names;
  for (const auto& [name, module] : net.children()) names.push_back(name);
  for (size_t i = 0; i < names.size(); ++i) {
    std::shared_ptr<nn::Module> module = net.unregister_module(names[i], where);
    if (stage_of(i) == static_cast<size_t>(pipe.rank()))
      stage->push_back(names[i], std::move(module));
  }
  stage->train(net.training());
  return stage;
}

nn::NamedTensors gather_states(const Group& group, const nn::NamedTensors& mine, Where where) {
  NoGrad guard;
  nn::NamedTensors all;
  for (int root = 0; root < group.size(); ++root) {
    std::string text;
    for (const auto& [name, t] : root == group.rank() ? mine : nn::NamedTensors()) {
      text += name + '\n' + std::to_string(static_cast<int>(t.dtype()));
      for (int i = 0; i < t.rank(); ++i) text += ' ' + std::to_string(t.raw_shape()[i]);
      text += '\n';
    }
    const Tensor list = broadcast_bytes(
        group, from_blob(text.data(), Shape{static_cast<int64_t>(text.size())}, DType::kU8, where),
        root, "names of the state of rank " + std::to_string(root), where);
    text.assign(static_cast<const char*>(list.raw().data), list.nbytes());
    size_t i = 0;
    for (size_t at = 0; at < text.size(); ++i) {
      const size_t end = text.find('\n', at), stop = text.find('\n', end + 1);
      const std::string name = text.substr(at, end - at);
      std::vector<int64_t> numbers;
      for (const char* p = text.c_str() + end + 1; p < text.c_str() + stop;) {
        char* next = nullptr;
        numbers.push_back(strtoll(p, &next, 10));
        p = next;
      }
      const Shape shape = to_shape(Span<const int64_t>(numbers.data() + 1, numbers.size() - 1));
      const Tensor t = root == group.rank()
                           ? mine[i].second.detach().contiguous(where)
                           : new_tensor(shape, static_cast<DType>(numbers[0]), where);
      Group of = group;
      of.broadcast(t, root, {.name = name}, where);
      all.emplace_back(name, t);
      at = stop + 1;
    }
  }
  return all;
}

nn::Sequential gpt_layers(nn::GPT& gpt, Where where) {
  const nn::GptOptions o = gpt.options();
  if (o.tie_weights) {
    throw_error("gpt_layers", "the token table is tied to the output, which is in another stage",
                where, Code::kUnsupported);
  }
  nn::Sequential layers;
  auto tokens = gpt.unregister_module("token_embedding", where);
  auto positions = gpt.unregister_module("position_embedding", where);
  layers.push_back("input", std::make_shared<GptInput>(tokens, positions, o.dropout));
  nn::Module& blocks = gpt.get_submodule("blocks", where);
  for (int64_t i = 0; i < o.num_layers; ++i) {
    auto block = std::dynamic_pointer_cast<nn::TransformerBlock>(
        blocks.unregister_module(std::to_string(i), where));
    layers.push_back("block" + std::to_string(i),
                     std::make_shared<GptMaskedBlock>(std::move(block), o.causal));
  }
  for (const char* name : {"ln_f", "lm_head"})
    layers.push_back(name, gpt.unregister_module(name, where));
  return layers;
}

nn::NamedTensors gpt_state(const nn::NamedTensors& layers) {
  nn::NamedTensors state;
  for (const auto& [name, t] : layers) {
    std::string own = name;
    if (name.rfind("input.", 0) == 0) own = name.substr(6);
    const size_t middle = name.find(".block.");
    if (name.rfind("block", 0) == 0 && middle != std::string::npos)
      own = "blocks." + name.substr(5, middle - 5) + "." + name.substr(middle + 7);
    state.emplace_back(own, t);
  }
  return state;
}

}  // namespace wick::distributed
