// Knowledge distillation (Hinton, Vinyals, Dean, 2015): besides the labels, a student learns a
// teacher's probabilities, softened by a temperature.
#pragma once

#include "trainer/tensor/tensor.h"

namespace wick::nn {

// Computes alpha T^2 KL(teacher || student) + (1 - alpha) cross_entropy(student, labels), where
// both distributions are softmax(logits / T). T^2 keeps the gradients' size independent of T. KL is
// the mean over the rows (PyTorch's "batchmean").
class KnowledgeDistillation {
 public:
  // Throws Error unless temperature > 0 and 0 <= alpha <= 1.
  explicit KnowledgeDistillation(double temperature = 3, double alpha = 0.7,
                                 Where where = Where::current());
  // The logits are [rows, classes], of equal shapes; labels are int64 [rows]. The teacher gets no
  // gradient.
  Tensor operator()(const Arg& student_logits, const Arg& teacher_logits, const Arg& labels) const;
  // Returns KL T^2, the first term without alpha.
  Tensor soft_loss(const Arg& student_logits, const Arg& teacher_logits) const;

 private:
  double temperature_, alpha_;
};

}  // namespace wick::nn
