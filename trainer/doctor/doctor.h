// What is wrong with a training: runs a few of its steps in several ways and says where numbers
// stop being finite, which line's memory grows, and which op gives other results when it is run
// again, on plain loops, in bfloat16, on a Vulkan device, or from a compiled step.
//
//   auto make = [&](const Device& device) {
//     manual_seed(1);
//     auto net = std::make_shared<Net>();
//     net->to(device);
//     Tensor x = batch_x.to(device), y = batch_y.to(device);
//     return doctor::Training{net, std::make_shared<optim::SGD>(net->parameters(), ...),
//                             [=] { return cross_entropy((*net)(x), y); }};
//   };
//   for (const doctor::Finding& f : doctor::examine(make)) std::cout << f.line() << "\n";
//
// `wick doctor RUN` does this for a folder of `wick train` (docs/use/doctor.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/optim/optimizer.h"

namespace wick::doctor {

// A training that begins, and one batch of it.
struct Training {
  std::shared_ptr<nn::Module> module;           // whose parameters are trained
  std::shared_ptr<optim::Optimizer> optimizer;  // null: weights stay as they are
  std::function<Tensor()> loss;                 // the forward of the batch, to a scalar
  // Makes a whole step and returns its loss: zero_grad, loss, backward, the optimizer's step.
  Tensor step() const;
};
// Makes the same training each time: it seeds its generators and makes module, optimizer and batch
// anew, on that device.
using MakeTraining = std::function<Training(const Device&)>;

// What examine() can look for.
enum class Check : uint8_t {
  kNan,          // the first op that makes NaN or inf of finite numbers, or whoever else has one
  kLeak,         // the line whose tensors grow in bytes from step to step
  kDeterminism,  // the first kernel with other bits when it runs again or on other threads
  kReference,    // the first op with other bits on the plain loops
  kBf16,         // the first op that is far from float32's result under autocast to bfloat16
  kVulkan,       // the first op that is far from the CPU's result on a Vulkan device
  kCompile,      // the first op with other bits in a repetition of compile_step()
};
// Returns "nan", "leak", "determinism", "reference", "bf16", "vulkan" or "compile".
const char* check_name(Check check);
// Returns all of them, in the order above.
std::vector<Check> all_checks();

// What a check says.
struct Finding {
  Check check = Check::kNan;  // the check
  // Nothing was found, something was, or nothing could be looked at.
  enum class Verdict : uint8_t { kHealthy, kFound, kSkipped };
  Verdict verdict = Verdict::kHealthy;  // which of them it was
  std::string op, where;  // what was found: the op and the user's line, if they are known
  std::string text;       // the whole finding, or what was looked at, or why nothing was
  // Returns "nan: FOUND: [log] ...".
  std::string line() const;
};

// Options of examine().
struct Options {
  std::vector<Check> checks = all_checks();  // those to make, in this order
  // How many steps each check makes; at least 4, since a compiled step repeats from the third on.
  int steps = 5;
  // An op is far from another result if the difference's norm is more than this share of the
  // result's norm, while it was not for any of the op's inputs. bfloat16 keeps 8 bits, and
  // gradients of small sums lose some more.
  double far_bf16 = 0.5;
  double far_vulkan = 1e-3;
};

// Makes the checks and returns a finding for each, in order. What the training itself throws is a
// finding of the check that met it. Throws Error for options that no check can follow.
std::vector<Finding> examine(const MakeTraining& make, const Options& options = {},
                             Where where = Where::current());

}  // namespace wick::doctor
