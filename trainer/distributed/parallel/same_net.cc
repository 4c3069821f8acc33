#include "trainer/distributed/parallel/same_net.h"

#include "trainer/distributed/comm/communicator.h"
#include "trainer/tensor/philox.h"

namespace wick::distributed {
namespace {

// FNV-1a: a net of another rank differs by mistake, not by design.
int64_t name_hash(const std::string& text) {
  uint64_t h = 14695981039346656037u;
  for (char c : text) h = (h ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return static_cast<int64_t>(h);
}

std::string describe_tensor(const std::string& name, const Tensor& t) {
  return name + " " + dtype_name(t.dtype()) + to_text(t.raw_shape()).text +
         (t.requires_grad() ? "" : " without gradient");
}

std::vector<int64_t> gather(Group& group, const std::vector<int64_t>& mine, const char* name,
                            const Where& where) {
  std::vector<int64_t> all(mine.size() * static_cast<size_t>(group.size()));
  Call call;
  call.dtype = DType::kI64;
  call.count = static_cast<int64_t>(mine.size());
  call.name = name;
  call.where = where;
  group.communicator().all_gather(call, mine.data(), all.data(), nullptr).wait();
  return all;
}

void check_same(Group& group, const std::vector<std::string>& texts, const Where& where) {
  std::vector<int64_t> hashes;
  std::string whole;
  for (const std::string& text : texts) {
    hashes.push_back(name_hash(text));
    whole += text + "\n";
  }
  const auto n = static_cast<int64_t>(texts.size());
  const std::vector<int64_t> summary =
      gather(group, {n, name_hash(whole)}, "size of the net", where);
  bool counts = true, same = true;
  for (size_t r = 0; r < static_cast<size_t>(group.size()); ++r) {
    counts = counts && summary[2 * r] == summary[0];
    same = same && summary[2 * r + 1] == summary[1];
  }
  if (same) return;
  std::string text;
  if (!counts) {
    for (size_t r = 0; r < static_cast<size_t>(group.size()); ++r) {
      text += (r == 0 ? "rank " : ", rank ") + std::to_string(r) + " has " +
              std::to_string(summary[2 * r] - 1);
    }
    text += " parameters and buffers";
  } else {
    const std::vector<int64_t> all = gather(group, hashes, "names of the net", where);
    for (size_t i = 0; i < texts.size() && text.empty(); ++i) {
      for (size_t r = 0; r < static_cast<size_t>(group.size()); ++r) {
        if (all[r * texts.size() + i] == all[i]) continue;
        text = "rank " + std::to_string(r) + " and rank 0 differ in what is " + texts[i] +
               " on this rank";
        break;
      }
    }
  }
  throw_error("data_parallel", "the nets of the ranks are not the same: " + text, where,
              Code::kShapeMismatch);
}

}  // namespace

void make_same(Group& group, nn::Module& net, int shards, const Where& where) {
  nn::NamedTensors tensors = net.named_parameters();
  for (const auto& b : net.named_buffers()) tensors.push_back(b);
  std::vector<std::string> texts = {"shards = " + std::to_string(shards)};
  for (const auto& [name, t] : tensors) {
    if (!t.is_cpu()) {
      throw_error("data_parallel", "'" + name + "' is not on the CPU", where, Code::kUnsupported);
    }
    texts.push_back(describe_tensor(name, t));
  }
  check_same(group, texts, where);
  if (group.size() == 1) return;
  NoGrad guard;
  for (const auto& [name, t] : tensors) {
    const Tensor dense = t.detach().contiguous(where);
    group.broadcast(dense, 0, {.name = name}, where);
    if (!t.is_contiguous(where)) t.copy_(dense, where);
  }
  const Tensor state = default_generator().get_state();
  group.broadcast(state, 0, {.name = "default generator"}, where);
  default_generator().set_state(state, where);
}

}  // namespace wick::distributed
