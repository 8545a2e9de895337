#include "reference_engine/engine/announced_gradient.h"

#include "reference_engine/engine/graph_task.h"
#include "reference_engine/engine/node_run.h"
#include "reference_engine/engine/validation.h"

namespace gradcts::reference {

void AnnouncedGradient::deliver(Tensor gradient) {
  std::exception_ptr error;
  const Node& node = *edge_.node;
  if (auto mismatch = fit(node.slot(edge_.slot), gradient, node.strict_validation())) {
    error = std::make_exception_ptr(Error(
        mismatch->category,
        "the gradient announced for node " + node.name() + " is invalid: " + mismatch->message));
  }
  Tensor left;
  LockGuard lock(mutex_);
  if (phase_ != Phase::open) return;
  phase_ = Phase::arrived;
  if (gradient.defined()) written_on_ = current_stream(gradient.device());
  gradient_ = std::move(gradient);
  error_ = std::move(error);
  if (task_) left = hand_over();
}

void AnnouncedGradient::fail(std::exception_ptr error) {
  LockGuard lock(mutex_);
  if (phase_ != Phase::open) return;
  phase_ = Phase::arrived;
  error_ = std::move(error);
  if (task_) hand_over();
}

void AnnouncedGradient::attach(GraphTask& task, std::uint32_t order) {
  task.add_outstanding();
  Tensor left;
  LockGuard lock(mutex_);
  task_ = &task;
  order_ = order;
  if (phase_ == Phase::arrived) left = hand_over();
}

void AnnouncedGradient::cancel() {
  LockGuard lock(mutex_);
  if (phase_ != Phase::open || !task_) return;
  phase_ = Phase::over;
  task_->finish_one();
}

// The pass counts on this one until it is finished here, so it is still there.
Tensor AnnouncedGradient::hand_over() {
  phase_ = Phase::over;
  Tensor gradient = std::move(gradient_);
  if (error_) {
    task_->set_error(error_);
  } else if (!task_->has_error()) {
    deliver_announced(*task_, edge_, gradient, written_on_, order_);
  }
  task_->finish_one();
  return gradient;
}

}  // namespace gradcts::reference
