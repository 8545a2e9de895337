#include "reference_engine/graph/anomaly.h"

#include <execinfo.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "reference_engine/graph/node.h"
#include "reference_engine/graph/node_hooks.h"
#include "reference_engine/graph/thread_mode.h"
#include "reference_engine/memory/disposal.h"

namespace gradcts::reference {

// Calls are kept as addresses, and turned into names when somebody asks. Chains may be long: one
// derivative after another adds a link.
class NodeOrigin : public Disposable {
 public:
  NodeOrigin(std::vector<void*> calls, std::string parent_name, NodeOriginPointer parent)
      : calls_(std::move(calls)),
        parent_name_(std::move(parent_name)),
        parent_(std::move(parent)) {}

  std::string describe(const std::string& node_name) const {
    std::string text = describe_one(node_name);
    for (const NodeOrigin* origin = this; origin->parent_; origin = origin->parent_.get()) {
      text += origin->parent_->describe_one(origin->parent_name_);
    }
    return text;
  }

 private:
  std::string describe_one(const std::string& node_name) const {
    std::string text = "node " + node_name + " was made by:\n" + describe_calls();
    if (!parent_name_.empty()) text += "in the backward of node " + parent_name_ + "\n";
    return text;
  }

  std::string describe_calls() const {
    std::string text;
    char** names = backtrace_symbols(calls_.data(), static_cast<int>(calls_.size()));
    for (std::size_t i = 0; names && i < calls_.size(); ++i) {
      text += "    " + std::string(names[i]) + "\n";
    }
    std::free(names);
    return text;
  }

  const std::vector<void*> calls_;
  const std::string parent_name_;
  const NodeOriginPointer parent_;
};

const AnomalyMode& anomaly_mode() {
  return thread_mode().anomaly;
}

AnomalyGuard::AnomalyGuard(bool enabled, bool check_nan) : previous_(thread_mode().anomaly) {
  thread_mode().anomaly = {enabled, enabled && check_nan};
}

AnomalyGuard::~AnomalyGuard() {
  thread_mode().anomaly = previous_;
}

NodeOriginPointer current_origin() {
  const ThreadMode& mode = thread_mode();
  if (!mode.anomaly.is_enabled) return nullptr;
  std::vector<void*> calls(32);
  calls.resize(static_cast<std::size_t>(backtrace(calls.data(), static_cast<int>(calls.size()))));
  const Node* parent = mode.running.node;
  const NodeHooks* hooks = parent ? parent->hooks() : nullptr;
  return NodeOriginPointer(new NodeOrigin(std::move(calls), parent ? parent->name() : "",
                                          hooks ? hooks->origin : nullptr),
                           dispose);
}

std::string describe_origin(const Node& node) {
  const NodeHooks* hooks = node.hooks();
  if (hooks && hooks->origin) return hooks->origin->describe(node.name());
  return "where node " + node.name() + " was made is not known: anomaly mode was off then\n";
}

}  // namespace gradcts::reference
