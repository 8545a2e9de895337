#include "reference_engine/graph/anomaly.h"

#include <execinfo.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "reference_engine/graph/node.h"
#include "reference_engine/graph/node_hooks.h"
#include "reference_engine/graph/thread_mode.h"

namespace gradcts::reference {

// Calls are kept as addresses, and turned into names when somebody asks.
class NodeOrigin {
 public:
  NodeOrigin(std::vector<void*> calls, std::string parent_name, NodeOriginPointer parent)
      : calls_(std::move(calls)),
        parent_name_(std::move(parent_name)),
        parent_(std::move(parent)) {}

  std::string describe(const std::string& node_name) const {
    std::string text = "node " + node_name + " was made by:\n" + describe_calls();
    if (!parent_name_.empty()) text += "in the backward of node " + parent_name_ + "\n";
    if (parent_) text += parent_->describe(parent_name_);
    return text;
  }

 private:
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
  return std::make_shared<const NodeOrigin>(std::move(calls), parent ? parent->name() : "",
                                            hooks ? hooks->origin : nullptr);
}

std::string describe_origin(const Node& node) {
  const NodeHooks* hooks = node.hooks();
  if (hooks && hooks->origin) return hooks->origin->describe(node.name());
  return "where node " + node.name() + " was made is not known: anomaly mode was off then\n";
}

}  // namespace gradcts::reference
