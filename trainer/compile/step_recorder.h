// Makes a Recording of a step while it runs as always.
#pragma once

#include <map>
#include <mutex>

#include "runtime/core/function_ref.h"
#include "trainer/compile/recording.h"

namespace wick::compiled {

class StepRecorder final : public Recorder {
 public:
  // Records this thread from now on. `leaves`: those whose gradients the step may find. `beside`
  // (or null): a recording whose checks are made of this run's values, too.
  StepRecorder(Span<const Tensor* const> arguments, const std::vector<Tensor>& leaves,
               const Recording* beside);
  ~StepRecorder() override;
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;

  // Called before the first host code of the step, or at its end. It gets the present address of a
  // buffer; null: there is none.
  using Addresses = FunctionRef<const void*(int buffer)>;
  std::function<void(Addresses)> at_first_host;

  // Ends the recording. `results` are without a history, and nothing else of the step is alive but
  // what the program keeps.
  Recording finish(const std::vector<Tensor>& results);
  bool broken() const { return !r_.breaks.empty(); }

  void on_tensor(const Tensor& t) override;
  void on_kernel(const KernelQuery& query, Span<const TensorView> out, const Where& where) override;
  void on_copy(const TensorView& from, const TensorView& to, const Where& where) override;
  void on_zero(const TensorView& to, const Where& where) override;
  void on_stream(Generator& g, const Draw& draw) override;
  void on_draw(const DrawFill& fill, const Draw& draw, const TensorView& to) override;
  void on_sizes(const TensorView& sizes, const std::string& op, const Where& where) override;
  void on_check(const Tensor& t, std::function<bool(const TensorView&)> holds, const char* op,
                const Where& where) override;
  void on_host(const char* name, const void* owner, std::function<void()> f) override;
  void on_owner_gone(const void* owner) override;
  void on_optimizer(const optim::Optimizer& optimizer) override;
  void on_flag(const bool* flag) override;
  void on_break(StepBreak why) override;
  // Called from any thread.
  void on_create(const Storage& storage);
  void on_free(const Storage& storage);

 private:
  struct Live {
    Storage* storage = nullptr;  // null: an argument's or another that is held elsewhere
    size_t bytes = 0;
    bool made = false;     // during the step
    bool by_host = false;  // by its host code
    int buffer = -1;       // -1: no entry has used it
  };
  Live* find(const void* address);
  Ref ref_of(const TensorView& v, const Where& where);
  Ref read(const TensorView& v, const Where& where);
  Ref written(const TensorView& v, const Where& where);
  void know(const Tensor& t, Place place, int index);
  void fill(int buffer, const Where& where);
  GradState grad_of(size_t leaf);
  std::vector<GradState> grads();
  void call_at_first_host();
  void forget_handles_of_the_step();
  void break_at_computed_sizes();

  Recording r_;
  const Recording* beside_;
  struct Sizes {
    int buffer;
    std::string op, where;
  };
  std::vector<Sizes> sizes_;  // that ops took from tensors
  size_t checks_ = 0;         // so far
  size_t source_ = 0;         // of the draw that is being made
  size_t leaves_before_ = 0;  // that were known when the recording began
  std::mutex mutex_;          // storages are made and freed by other threads, too
  std::map<const char*, Live> live_;
  std::vector<const void*> starts_;  // of the arguments
  std::map<const TensorCore*, bool> seen_;
  bool host_ = false, drawing_ = false, called_ = false;
};

}  // namespace wick::compiled
