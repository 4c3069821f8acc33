// Autograd on single numbers: a Value knows its inputs and how to pass its gradient back. It learns
// xor next to the same net of tensors, from the same weights and with the same losses.
#include <wick/trainer.h>

#include <cmath>
#include <cstdio>
#include <set>

using namespace wick;  // NOLINT: an example

struct Cell {
  double value = 0, grad = 0;
  std::vector<std::shared_ptr<Cell>> from;
  void (*backward)(Cell&) = [](Cell&) {};
};

class Value {
 public:
  Value(double v = 0) : cell_(std::make_shared<Cell>()) { cell_->value = v; }  // NOLINT: implicit
  double value() const { return cell_->value; }
  void descend(double lr) {
    cell_->value -= lr * cell_->grad;
    cell_->grad = 0;
  }
  friend Value operator+(const Value& a, const Value& b) {
    return Value(a.value() + b.value(), {a.cell_, b.cell_}, [](Cell& c) {
      c.from[0]->grad += c.grad;
      c.from[1]->grad += c.grad;
    });
  }
  friend Value operator*(const Value& a, const Value& b) {
    return Value(a.value() * b.value(), {a.cell_, b.cell_}, [](Cell& c) {
      c.from[0]->grad += c.from[1]->value * c.grad;
      c.from[1]->grad += c.from[0]->value * c.grad;
    });
  }
  friend Value tanh(const Value& a) {
    return Value(std::tanh(a.value()), {a.cell_},
                 [](Cell& c) { c.from[0]->grad += (1 - c.value * c.value) * c.grad; });
  }
  // Results before their inputs, so that each passes on a gradient that is complete.
  void backward() const {
    std::vector<Cell*> order;
    std::set<Cell*> seen;
    std::function<void(Cell*)> visit = [&](Cell* c) {
      if (!seen.insert(c).second) return;
      for (auto& f : c->from) visit(f.get());
      order.push_back(c);
    };
    visit(cell_.get());
    cell_->grad = 1;
    for (size_t i = order.size(); i-- > 0;) order[i]->backward(*order[i]);
  }

 private:
  Value(double v, std::vector<std::shared_ptr<Cell>> from, void (*backward)(Cell&))
      : cell_(std::make_shared<Cell>(Cell{v, 0, std::move(from), backward})) {}
  std::shared_ptr<Cell> cell_;
};

constexpr double kX[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, kY[4] = {-1, 1, 1, -1};

// 2 inputs, 4 tanh neurons, 1 output; p is w1 (4x2), b1, w2, b2.
static Value loss_of(const std::vector<std::vector<Value>>& p) {
  Value total;
  for (int r = 0; r < 4; ++r) {
    Value y = p[3][0];
    for (size_t h = 0; h < 4; ++h) {
      y = y + p[2][h] * tanh(p[1][h] + p[0][2 * h] * kX[r][0] + p[0][2 * h + 1] * kX[r][1]);
    }
    total = total + (y + -kY[r]) * (y + -kY[r]);
  }
  return total * 0.25;
}

int main() {
  manual_seed(7);
  std::vector<Tensor> tensors;
  for (const Shape& s : {Shape{4, 2}, Shape{4}, Shape{1, 4}, Shape{1}})
    tensors.push_back(uniform(s, -0.7, 0.7).to(DType::kF64).requires_grad_());
  std::vector<std::vector<Value>> values;
  for (const Tensor& t : tensors) {
    auto numbers = t.detach().to_vector<double>();
    values.emplace_back(numbers.begin(), numbers.end());
  }
  Tensor x = from_blob(kX, {4, 2}, DType::kF64), y = from_blob(kY, {4, 1}, DType::kF64);
  double worst = 0;
  for (int step = 0; step <= 500; ++step) {
    Value a = loss_of(values);
    a.backward();
    Tensor h = tanh(linear(x, tensors[0], tensors[1]));
    Tensor b = mse_loss(linear(h, tensors[2], tensors[3]), y);
    b.backward();
    worst = std::max(worst, std::abs(a.value() - b.item()));
    if (step % 100 == 0) std::printf("step %3d  %.9f  %.9f\n", step, a.value(), b.item());
    for (auto& p : values)
      for (Value& v : p) v.descend(0.1);
    NoGrad guard;
    for (Tensor& p : tensors) {
      p.add_(p.grad(), -0.1);
      p.set_grad(Tensor());
    }
  }
  std::printf("differ by less than 1e-12: %s\n", worst < 1e-12 ? "yes" : "NO");
  return worst < 1e-12 ? 0 : 1;
}
