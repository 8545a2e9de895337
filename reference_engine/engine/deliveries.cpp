#include "reference_engine/engine/deliveries.h"

#include <algorithm>

namespace gradcts::reference {

void put_down(std::vector<Delivery>& deliveries, const Edge& edge, std::uint64_t order,
              Tensor gradient, Stream producer) {
  if (!gradient.defined()) return;
  const bool crosses = producer != edge.node->slot(edge.slot).stream;
  Event written = crosses ? record_event(producer) : nullptr;
  deliveries.push_back({edge.slot, order, std::move(gradient), producer, std::move(written)});
}

void put_down(std::vector<Delivery>& deliveries, const Edge& edge, std::uint64_t order,
              Tensor gradient) {
  const Stream producer = gradient.defined() ? current_stream(gradient.device()) : Stream{};
  put_down(deliveries, edge, order, std::move(gradient), producer);
}

Gradients add_up(const Node& node, std::vector<Delivery> deliveries) {
  std::sort(deliveries.begin(), deliveries.end(),
            [](const Delivery& a, const Delivery& b) { return a.order < b.order; });
  Gradients sums(node.slot_count());
  for (Delivery& delivery : deliveries) {
    const Stream reader = node.slot(delivery.slot).stream;
    wait_event(reader, delivery.written);
    register_use(delivery.gradient, reader);
    detail::add_to_sum(sums[delivery.slot], std::move(delivery.gradient));
  }
  return sums;
}

bool any_defined(const Gradients& gradients) {
  return std::any_of(gradients.begin(), gradients.end(),
                     [](const Tensor& gradient) { return gradient.defined(); });
}

NodeStreams::NodeStreams(const Node& node) : first_(node.stream()) {
  for (std::uint32_t slot = 1; slot < node.slot_count(); ++slot) {
    const Stream stream = node.slot(slot).stream;
    if (stream.device == node.stream().device || stream.device.is_cpu()) continue;
    previous_.push_back(current_stream(stream.device));
    set_current_stream(stream);
  }
}

NodeStreams::~NodeStreams() {
  for (auto it = previous_.rbegin(); it != previous_.rend(); ++it) set_current_stream(*it);
}

}  // namespace gradcts::reference
