// Knowledge distillation (Hinton, Vinyals, Dean, 2015): a student learns a teacher's probabilities,
// softened by a temperature, beside the labels.
#pragma once

#include "trainer/tensor/tensor.h"

namespace wick::nn {

// alpha T^2 KL(teacher || student) + (1 - alpha) cross_entropy(student, labels), where both
// distributions are softmax(logits / T). T^2 keeps the gradients' size whatever T is. KL is the
// mean over the rows (PyTorch's "batchmean").
class KnowledgeDistillation {
 public:
  // temperature > 0, 0 <= alpha <= 1, or Error.
  explicit KnowledgeDistillation(double temperature = 3, double alpha = 0.7,
                                 Where where = Where::current());
  // Logits [rows, classes] of one shape; labels int64 [rows]. No gradient goes to the teacher.
  Tensor operator()(const Arg& student_logits, const Arg& teacher_logits, const Arg& labels) const;
  // The first term without alpha.
  Tensor soft_loss(const Arg& student_logits, const Arg& teacher_logits) const;

 private:
  double temperature_, alpha_;
};

}  // namespace wick::nn
