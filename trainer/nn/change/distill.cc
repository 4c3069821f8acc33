#include "trainer/nn/change/distill.h"

#include <cmath>

#include "trainer/tensor/ops.h"

namespace wick::nn {

KnowledgeDistillation::KnowledgeDistillation(double temperature, double alpha, Where where)
    : temperature_(temperature), alpha_(alpha) {
  if (!(temperature > 0) || !std::isfinite(temperature))
    throw_error("KnowledgeDistillation",
                "temperature must be positive, got " + std::to_string(temperature), where);
  if (!(alpha >= 0 && alpha <= 1))
    throw_error("KnowledgeDistillation", "alpha must be in [0, 1], got " + std::to_string(alpha),
                where);
}

Tensor KnowledgeDistillation::soft_loss(const Arg& student, const Arg& teacher) const {
  if (!(student.tensor.raw_shape() == teacher.tensor.raw_shape()) || student.tensor.rank() != 2) {
    throw_error("KnowledgeDistillation",
                std::string("expected logits [rows, classes] of one shape: student ") +
                    to_text(student.tensor.raw_shape()).text + ", teacher " +
                    to_text(teacher.tensor.raw_shape()).text,
                student.where, Code::kShapeMismatch);
  }
  Tensor soft = softmax({teacher.tensor.detach() / temperature_, teacher.where}, 1);
  Tensor own = log_softmax({student.tensor / temperature_, student.where}, 1);
  return kl_div({own, student.where}, soft, KlReduction::kBatchMean) *
         (temperature_ * temperature_);
}

Tensor KnowledgeDistillation::operator()(const Arg& student, const Arg& teacher,
                                         const Arg& labels) const {
  return soft_loss(student, teacher) * alpha_ + cross_entropy(student, labels) * (1 - alpha_);
}

}  // namespace wick::nn
