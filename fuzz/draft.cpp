#include "fuzz/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace gradcts::fuzz {

namespace {

Shape shape_of(std::uint32_t choice) {
  switch (choice) {
    case 1:
      return {2};
    case 2:
      return {3};
    case 3:
      return {2, 2};
    case 4:
      return {2, 3};
    default:
      return {};
  }
}

}  // namespace

Plan::Plan(Choices& header, const Claims& claims) {
  shape = shape_of(header.below(5));
  const std::uint32_t numbers = header.below(16);
  if (numbers >= 13) type = ScalarType::float32;
  const std::uint32_t devices = header.below(16);
  sim = devices >= 9;
  second_sim = devices >= 12;
  other = devices == 14;
  streams = devices == 9 || devices == 10 || devices == 15;
  if (streams) second_sim = other = false;
  const std::uint32_t crowd = header.below(16);
  if (crowd >= 12 && !streams) threads = static_cast<std::int32_t>(crowd - 10);
  const auto flags = [&](auto... places) {
    const std::uint32_t byte = header.below(256);
    int bit = 0;
    ((*places = ((byte >> bit++) & 1U) != 0), ...);
  };
  flags(&nested, &callbacks, &undefined, &tensor_hooks, &retain_grad, &pre_hooks, &post_hooks,
        &post_accumulate);
  flags(&capture_hooks, &multi_hooks, &hook_steps, &create, &in_place, &changes, &drops, &set_grad);
  flags(&modes, &locks, &observes, &keeps, &views, &arithmetic, &functions, &conversions);
  flags(&pools, &sparse, &strides, &materialise, &undefined_seeds, &grads, &inputs, &saved_hooks);
  // What ends a case early, or much of it, is rarer.
  errors = header.one_in(4);
  scripts_throw = header.one_in(5);
  requires_grad = header.one_in(5);
  anomaly = header.one_in(4);
  checkpoints = header.one_in(4);
  stop = header.one_in(48);
  nan = header.one_in(6);
  keep_to(claims);
  if (threads > 0) {
    // Two threads must not race for what is no engine's affair: names, hooks, elements.
    keeps = hook_steps = changes = set_grad = requires_grad = checkpoints = false;
    retain_grad = pools = create = stop = drops = false;
  }
  if (streams) keeps = changes = set_grad = checkpoints = stop = strides = sparse = pools = false;
  // Whether a pack hook is given the tensor or a copy shows when it is changed.
  if (in_place || changes) saved_hooks = false;
  // What several queues do at a time has no order: see docs/fuzz.md.
  if (sim) hook_steps = multi_hooks = false;
  if (sim && nested) keeps = false;
  if (requires_grad) checkpoints = false;
}

// Takes out what the engine lacks. What is chosen for the rest stays the same.
void Plan::keep_to(const Claims& claims) {
  const auto needs = [&](const char* feature, auto&... flags) {
    if (!claims.has(feature)) ((flags = false), ...);
  };
  needs("device.sim", sim, second_sim, other, streams);
  needs("device.other", other);
  needs("streams", streams);
  if (!claims.has("threads")) threads = 0;
  needs("pass.nested", nested);
  needs("callbacks", callbacks);
  needs("custom.undefined", undefined);
  needs("hook.tensor", tensor_hooks);
  needs("hook.retain_grad", retain_grad);
  needs("hook.node_pre", pre_hooks);
  needs("hook.node_post", post_hooks);
  needs("hook.post_accumulate", post_accumulate);
  needs("hook.capture", capture_hooks);
  needs("hook.multi", multi_hooks);
  needs("hook.saved", saved_hooks);
  needs("hook.add", hook_steps);
  needs("hook.remove", hook_steps);
  needs("pass.create_graph", create);
  for (const char* change : {"change.handle", "change.view", "change.detached"}) {
    needs(change, changes);
  }
  needs("drop", drops);
  needs("grad.set", set_grad);
  needs("grad.preset", set_grad);
  needs("recording_mode", modes);
  needs("user_state", modes);
  needs("keep.handle", keeps);
  needs("layout.sparse", sparse);
  if (sim) needs("layout.sparse.on_device", sparse);
  needs("layout.strides", strides);
  needs("custom.materialise", materialise);
  needs("custom.pool", pools);
  // Casts are an operation; what scripts convert (custom.conversion) the generator does not write.
  for (const char* part : {"operation.cast", "type.float32", "type.float64"}) {
    needs(part, conversions);
  }
  if (!claims.has("type.float32")) type = ScalarType::float64;
  needs("pass.undefined_seed", undefined_seeds);
  needs("pass.grad", grads);
  needs("pass.inputs", inputs);
  needs("pass.inputs.non_leaf", inputs);
  needs("requires_grad", requires_grad);
  needs("anomaly", anomaly);
  needs("observe.checkpoint_valid", checkpoints);
  needs("engine.stop", stop);
  needs("nesting_limit", nesting_limit);
  needs("device.set", device_set);
  needs("strict_validation", strict);
  needs("pass.materialise", zeros_for_unused);
}

ValueId Draft::add_value(std::string name, Value::Origin origin, std::int32_t producer,
                         std::int32_t index, Known facts) {
  scenario.values.push_back({std::move(name), origin, producer, index});
  known.push_back(std::move(facts));
  return static_cast<ValueId>(known.size() - 1);
}

std::string Draft::fresh_name(const char* prefix) {
  std::string name = prefix;
  name += fmt::format_int(next_name++).c_str();
  return name;
}

void Draft::expect_items(std::size_t count) {
  scenario.nodes.reserve(count);
  scenario.values.reserve(2 * count);
  known.reserve(2 * count);
  cost.reserve(count);
}

double Draft::cost_of(ItemSet reach) const {
  double sum = 0;
  for (; reach != 0; reach &= reach - 1)
    sum += cost[static_cast<std::size_t>(std::countr_zero(reach))];
  return sum;
}

double Draft::most_spread() const {
  const double whole = plan.type == ScalarType::float64 && !plan.conversions ? 1 << 20 : 1 << 7;
  return plan.create ? whole / 16 : whole;
}

bool Draft::is_exact(double spread, double range) const {
  return spread <= most_spread() && range <= (plan.create ? 16 : 64);
}

TensorValue small_integers(const Known& like, std::uint32_t first) {
  TensorValue tensor;
  tensor.type = like.type;
  tensor.device = like.device;
  tensor.shape = like.shape;
  const auto count = tensor.element_count();
  // 1 to 7, then their opposites: never all ones, never 0.
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t number = (first + 3 * i) % 14;
    tensor.values.push_back(static_cast<double>(number < 7 ? number + 1 : 6 - number));
  }
  return tensor;
}

double elements(const Shape& shape) {
  double count = 1;
  for (const std::int64_t length : shape) count *= static_cast<double>(length);
  return count;
}

}  // namespace gradcts::fuzz
