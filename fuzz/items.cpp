// Leaves and nodes.
#include <absl/container/inlined_vector.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fuzz/draft.h"

namespace gradcts::fuzz {

namespace {

ItemSet bit(std::size_t item) {
  return ItemSet{1} << item;
}

std::int32_t new_storage(Draft& draft) {
  draft.frozen.push_back(false);
  return static_cast<std::int32_t>(draft.frozen.size() - 1);
}

Device device_of(const Plan& plan, std::uint32_t choice) {
  if (!plan.sim || choice < 2) return {};
  if (choice < 5 || !(plan.second_sim || plan.other)) return {DeviceType::sim, 0};
  if (plan.other && choice > 6) return {DeviceType::other, 0};
  return {DeviceType::sim, static_cast<std::int8_t>(plan.second_sim ? 1 : 0)};
}

// Strides of a transposed tensor.
Shape transposed_strides(const Shape& shape) {
  return {1, shape[0]};
}

}  // namespace

void add_leaf(Draft& draft, Choices& choices) {
  const Plan& plan = draft.plan;
  const auto index = static_cast<std::int32_t>(draft.scenario.leaves.size());
  Known facts;
  facts.item = static_cast<std::int32_t>(draft.items());
  facts.type = plan.type;
  if (!choices.one_in(3)) facts.shape = plan.shape;
  facts.device = device_of(plan, choices.below(8));
  facts.tracked = index == 0 || !choices.one_in(6);
  facts.range = 7;
  facts.storage = new_storage(draft);
  facts.reach = facts.tracked ? bit(draft.items()) : 0;
  Leaf leaf;
  leaf.requires_grad = facts.tracked;
  leaf.initial = small_integers(facts, choices.below(14));
  if (plan.arithmetic || plan.functions) {  // these multiply: small numbers last longer
    for (double& number : leaf.initial.values) number = number > 0 ? 1 + (number > 3) : -1;
    facts.range = 2;
  }
  if (plan.strides && facts.shape.size() == 2 && choices.one_in(3)) {
    leaf.initial.strides = transposed_strides(facts.shape);
    facts.row_major = false;
  }
  if (plan.set_grad && facts.tracked && choices.one_in(4)) {
    leaf.grad = small_integers(facts, choices.below(14));
  }
  if (plan.streams && facts.device.type == DeviceType::sim) {
    leaf.stream = static_cast<StreamId>(choices.below(draft.scenario.streams.size()));
  }
  const std::string name = fmt::format("x{}", index);
  leaf.value = draft.add_value(name, Value::Origin::leaf, index, 0, facts);
  draft.scenario.leaves.push_back(std::move(leaf));
  draft.cost.push_back(1);
  if (facts.tracked) add_hooks(draft, choices, draft.scenario.leaves.back().value, stand_in(index));
}

// ------------------------------------------------------------------------------------------------
// Nodes

namespace {

// A node while it is made.
struct Making {
  Node node;
  Known output;                 // of each output
  absl::InlinedVector<double, 4> factors;  // for each input: bounds what a gradient is multiplied by
  bool shares = false;          // the output shares elements with the first input
  std::size_t outputs = 1;
};

bool can_meet(const Known& a, const Known& b) {
  const bool shapes = a.shape == b.shape || a.shape.empty() || b.shape.empty();
  return shapes && a.type == b.type && a.device == b.device;
}

class NodeMaker {
 public:
  NodeMaker(Draft& draft, Choices& choices) : draft_(draft), plan_(draft.plan), choices_(choices) {}
  void make();

 private:
  ValueId any();
  ValueId partner(ValueId first);
  const Known& of(ValueId value) const { return draft_.known[at(value)]; }
  Making unary(Operation operation, ValueId input, double factor);
  Making binary(Operation operation, ValueId a, ValueId b);
  Making built_in();
  Making arithmetic(std::uint32_t choice);
  Making reshaping(std::uint32_t choice);
  Making conversion();
  Making in_place();
  Making function();
  Making custom();
  Making harmless();
  Expression custom_output(const Making& making);
  void custom_backward(Making& making);
  void wrong_backward(std::vector<Expression>& returns);
  Expression gradient_for(const Making& making, ValueId to);
  bool settle(Making& making);
  void place(Making&& making);
  bool hooked_leaves() const {
    return plan_.tensor_hooks || plan_.pre_hooks || plan_.create || plan_.capture_hooks;
  }

  Draft& draft_;
  const Plan& plan_;
  Choices& choices_;
  std::int32_t thread_ = -1;  // of the program, or the thread that alone runs this node
};

// Nodes of a thread use what the program made and their own.
ValueId NodeMaker::any() {
  return pick(draft_, choices_, [&](ValueId value) {
    const Known& known = of(value);
    const bool small = draft_.is_exact(8 * known.spread, known.range);
    return known.type != ScalarType::boolean && small &&
           (known.thread == -1 || known.thread == thread_);
  });
}

ValueId NodeMaker::partner(ValueId first) {
  const ValueId found = pick(draft_, choices_, [&](ValueId value) {
    return can_meet(of(first), of(value)) &&
           (of(value).thread == -1 || of(value).thread == thread_);
  });
  return found == no_id ? first : found;
}

Making NodeMaker::unary(Operation operation, ValueId input, double factor) {
  Making making;
  making.node.operation = operation;
  making.node.inputs = {input};
  making.output.shape = of(input).shape;
  making.output.type = of(input).type;
  making.output.device = of(input).device;
  making.output.range = of(input).range;
  making.factors = {factor};
  return making;
}

Making NodeMaker::binary(Operation operation, ValueId a, ValueId b) {
  Making making = unary(operation, a, 1);
  if (of(a).shape.empty()) making.output.shape = of(b).shape;
  making.node.inputs.push_back(b);
  making.factors.clear();
  for (const ValueId input : {a, b}) {
    making.factors.push_back(elements(making.output.shape) / elements(of(input).shape));
  }
  making.output.range = of(a).range + of(b).range;
  return making;
}

Making NodeMaker::arithmetic(std::uint32_t choice) {
  const ValueId a = any();
  // Whether these save what they compare or only where it was larger is the engine's affair, and
  // shows when it is changed.
  const bool compares = choice == 3 || choice == 4 || choice == 7 || choice == 8;
  if (compares && (plan_.in_place || plan_.changes)) choice = 9;
  switch (choice) {
    case 0:
    case 1:
      return binary(choice == 0 ? Operation::add : Operation::sub, a, partner(a));
    case 2: {
      const ValueId b = partner(a);
      Making making = binary(Operation::mul, a, b);
      making.factors[0] *= of(b).range;
      making.factors[1] *= of(a).range;
      making.output.range = of(a).range * of(b).range;
      return making;
    }
    case 3:
    case 4: {
      Making making = binary(choice == 3 ? Operation::maximum : Operation::minimum, a, partner(a));
      making.output.range =
          std::max(of(making.node.inputs[0]).range, of(making.node.inputs[1]).range);
      return making;
    }
    case 5: {
      const double factor = std::array{2.0, 3.0, -1.0, 0.0, -2.0}[choices_.below(5)];
      Making making = unary(Operation::scale, a, std::max(1.0, std::abs(factor)));
      making.node.attributes = {Attribute(factor)};
      making.output.range *= std::max(1.0, std::abs(factor));
      return making;
    }
    case 6: {
      const int exponent = 1 + static_cast<int>(choices_.below(3));
      Making making = unary(Operation::power, a, 1);
      making.node.attributes = {Attribute(static_cast<double>(exponent))};
      for (int i = 1; i < exponent; ++i) {
        making.factors[0] *= of(a).range;
        making.output.range *= of(a).range;
      }
      making.factors[0] *= exponent;
      return making;
    }
    case 7:
      return unary(Operation::relu, a, 1);
    case 8: {
      Making making = unary(Operation::clamp, a, 1);
      making.node.attributes = {Attribute(-2.0), Attribute(3.0)};
      return making;
    }
    default:
      return unary(Operation::neg, a, 1);
  }
}

Making NodeMaker::reshaping(std::uint32_t choice) {
  const ValueId a = any();
  const Shape& shape = of(a).shape;
  const auto length = [](const Shape& of) { return of.empty() ? 1 : of[0]; };
  switch (choice) {
    case 0: {
      Making making = unary(Operation::sum, a, 1);
      making.node.attributes = {Attribute(), Attribute()};
      making.output.range *= elements(shape);
      making.output.shape = {};
      return making;
    }
    case 1: {
      if (!of(a).row_major) break;
      Making making = unary(Operation::view, a, 1);
      making.output.shape = {static_cast<std::int64_t>(elements(shape))};
      making.node.attributes = {
          Attribute(IntegerList(making.output.shape.begin(), making.output.shape.end()))};
      making.shares = true;
      return making;
    }
    case 2: {
      Making making = unary(Operation::expand, a, 1);
      if (shape.empty()) {
        making.output.shape = plan_.shape;
        making.factors[0] = elements(plan_.shape);
      }
      making.node.attributes = {
          Attribute(IntegerList(making.output.shape.begin(), making.output.shape.end()))};
      making.shares = true;
      return making;
    }
    case 3: {
      if (shape.size() != 2) break;
      Making making = unary(Operation::transpose, a, 1);
      making.output.shape = {shape[1], shape[0]};
      making.node.attributes = {Attribute(std::int64_t{0}), Attribute(std::int64_t{1})};
      making.shares = true;
      return making;
    }
    case 4: {
      if (shape.empty()) break;
      Making making = unary(Operation::select, a, 1);
      making.output.shape.erase(making.output.shape.begin());
      making.node.attributes = {Attribute(std::int64_t{0}),
                                Attribute(static_cast<std::int64_t>(
                                    choices_.below(static_cast<std::size_t>(length(shape)))))};
      making.shares = true;
      return making;
    }
    case 5: {
      if (shape.empty() || shape[0] < 2) break;
      Making making = unary(Operation::slice, a, 1);
      making.output.shape[0] -= 1;
      making.node.attributes = {Attribute(std::int64_t{0}), Attribute(std::int64_t{1}),
                                Attribute(length(shape)), Attribute()};
      making.shares = true;
      return making;
    }
    case 6: {
      if (shape.empty()) break;
      Making making = unary(Operation::unbind, a, 1);
      making.output.shape.erase(making.output.shape.begin());
      making.outputs = static_cast<std::size_t>(length(shape));
      making.node.attributes = {Attribute(std::int64_t{0})};
      making.shares = true;
      return making;
    }
    case 7: {
      const ValueId b = partner(a);
      if (shape.empty() || of(b).shape != shape) break;
      Making making = binary(Operation::cat, a, b);
      making.output.shape[0] *= 2;
      making.factors = {1, 1};
      making.output.range = std::max(of(a).range, of(b).range);
      making.node.attributes = {Attribute(std::int64_t{0})};
      return making;
    }
    case 8: {
      if (shape.size() != 2 || shape[0] != shape[1]) break;
      const ValueId b = partner(a);
      if (of(b).shape != shape) break;
      Making making = binary(Operation::mm, a, b);
      making.factors = {2 * of(b).range, 2 * of(a).range};
      making.output.range = 2 * of(a).range * of(b).range;
      return making;
    }
    case 9: {
      Making making = unary(Operation::detach, a, 1);
      making.shares = true;
      return making;
    }
    default:
      break;
  }
  return unary(Operation::clone, a, 1);
}

Making NodeMaker::conversion() {
  const ValueId a = any();
  if (plan_.sim && !choices_.one_in(4)) {
    const Device to = device_of(plan_, choices_.below(8));
    if (to != of(a).device) {
      Making making = unary(Operation::to_device, a, 1);
      making.output.device = to;
      making.node.attributes = {Attribute(to)};
      return making;
    }
  }
  if (!plan_.conversions) return unary(Operation::clone, a, 1);
  Making making = unary(Operation::cast, a, 1);
  making.output.type =
      of(a).type == ScalarType::float64 ? ScalarType::float32 : ScalarType::float64;
  making.node.attributes = {Attribute(making.output.type)};
  return making;
}

Making NodeMaker::in_place() {
  const ValueId target = pick(draft_, choices_, [&](ValueId value) {
    const Known& known = of(value);
    return known.may_change && known.thread == thread_ && !draft_.frozen[at(known.storage)] &&
           draft_.is_exact(8 * known.spread, known.range);
  });
  if (target == no_id) return harmless();
  if (choices_.one_in(3)) {
    Making making = unary(Operation::scale_in_place, target, 2);
    making.node.attributes = {Attribute(2.0)};
    making.output.range *= 2;
    making.shares = true;
    return making;
  }
  const auto which = choices_.below(3);
  const ValueId other = partner(target);
  const Known& known = of(other);
  if (known.storage == of(target).storage ||
      !(known.shape.empty() || known.shape == of(target).shape)) {
    return harmless();
  }
  Making making = binary(
      std::array{Operation::add_in_place, Operation::sub_in_place, Operation::mul_in_place}[which],
      target, other);
  if (which == 2) {
    making.factors[0] *= known.range;
    making.factors[1] *= of(target).range;
    making.output.range = of(target).range * known.range;
  }
  making.shares = true;
  return making;
}

// Functions that round are used where they are exact: at 0 and 1, on a leaf of their own.
Making NodeMaker::function() {
  struct Exact {
    Operation operation;
    double at;
  };
  constexpr std::array exact{Exact{Operation::exp, 0},    Exact{Operation::sin, 0},
                             Exact{Operation::cos, 0},    Exact{Operation::tanh, 0},
                             Exact{Operation::log, 1},    Exact{Operation::sqrt, 1},
                             Exact{Operation::sigmoid, 0}};
  const Exact& chosen = exact[choices_.below(exact.size())];
  Known facts;
  facts.item = static_cast<std::int32_t>(draft_.items());
  facts.type = plan_.type;
  facts.shape = plan_.shape;
  facts.tracked = true;
  facts.storage = new_storage(draft_);
  facts.reach = bit(draft_.items());
  const auto index = static_cast<std::int32_t>(draft_.scenario.leaves.size());
  Leaf leaf;
  leaf.initial = TensorValue::filled(plan_.shape, chosen.at, plan_.type);
  leaf.value = draft_.add_value(fmt::format("x{}", index), Value::Origin::leaf, index, 0, facts);
  const ValueId value = leaf.value;
  draft_.known[at(value)].may_change = false;
  draft_.known[at(value)].in_script = true;  // nothing may change it
  draft_.scenario.leaves.push_back(std::move(leaf));
  draft_.cost.push_back(1);
  return unary(chosen.operation, value, 1);
}

Making NodeMaker::harmless() {
  const ValueId lightest = pick(draft_, choices_, [&](ValueId value) {
    return draft_.is_exact(2 * of(value).spread, of(value).range) &&
           (of(value).thread == -1 || of(value).thread == thread_);
  });
  return unary(Operation::neg, lightest == no_id ? 0 : lightest, 1);
}

Making NodeMaker::built_in() {
  const std::uint32_t kind = choices_.below(8);
  if (kind == 1 && plan_.in_place) return in_place();
  if (kind == 2 && (plan_.sim || plan_.conversions)) return conversion();
  if (kind == 3 && plan_.views) return reshaping(choices_.below(11));
  if (kind == 4 && plan_.views) return reshaping(choices_.below(11));
  if (kind == 5 && plan_.functions && !plan_.changes && draft_.items() + 2 < most_items &&
      !plan_.streams) {
    return function();
  }
  return arithmetic(plan_.arithmetic ? choices_.below(10) : choices_.below(2));
}

// ---- Custom nodes

Making NodeMaker::custom() {
  const ValueId first = any();
  const std::uint32_t inputs = 1 + choices_.below(3);
  Making making = unary(Operation::custom, first, 3);
  // Its own script adds inputs without broadcasting, so that each gradient fits each input.
  for (std::uint32_t i = 1; i < inputs; ++i) {
    const ValueId more = pick(draft_, choices_, [&](ValueId value) {
      const Known& known = of(value);
      return known.shape == of(first).shape && known.type == of(first).type &&
             known.device == of(first).device && draft_.is_exact(8 * known.spread, known.range) &&
             (known.thread == -1 || known.thread == thread_);
    });
    if (more != no_id) making.node.inputs.push_back(more);
  }
  making.outputs = choices_.one_in(4) ? 2 + choices_.below(2) : 1;
  making.output.range = 0;
  for (const ValueId input : making.node.inputs) making.output.range += of(input).range;
  CustomNode custom;
  if (choices_.one_in(3)) {
    for (std::size_t i = 0; i < making.outputs; ++i)
      custom.forward.push_back(custom_output(making));
    making.output.range *= 3;
  }
  if (choices_.one_in(3)) custom.saves.push_back(making.node.inputs[0]);
  custom.materialise = plan_.materialise && choices_.one_in(3);
  custom.differentiable = !(plan_.errors && choices_.one_in(4));
  making.node.custom = std::move(custom);
  custom_backward(making);
  const double factor = making.factors[0];
  making.factors.assign(making.node.inputs.size(), factor);
  return making;
}

Expression NodeMaker::custom_output(const Making& making) {
  Expression output;
  const auto slots = making.node.inputs.size();
  if (choices_.one_in(6)) {
    output.kind = Expression::Kind::pass;
    output.slot = static_cast<std::int32_t>(choices_.below(slots));
    draft_.frozen[at(of(making.node.inputs[at(output.slot)]).storage)] = true;
    return output;
  }
  for (std::size_t i = 0; i < slots; ++i) {
    if (i > 0 && choices_.one_in(3)) continue;
    output.terms.push_back(
        {static_cast<std::int32_t>(i), std::array{1.0, 2.0, 3.0, -1.0}[choices_.below(4)], no_id});
  }
  return output;
}

// What flows back to an input: its shape, type and device.
Expression NodeMaker::gradient_for(const Making& making, ValueId to) {
  using Kind = Expression::Kind;
  const Known& input = of(to);
  Expression result;
  const CustomNode& custom = *making.node.custom;
  const auto slots = making.outputs;
  const auto slot = static_cast<std::int32_t>(choices_.below(slots));
  const std::uint32_t kind = choices_.below(10);
  if (kind == 7 && plan_.undefined) {
    result.kind = Kind::undefined;
  } else if (kind == 8) {
    result.kind = plan_.pools ? Kind::pool : Kind::constant;
    result.constant = small_integers(input, choices_.below(14));
    // A sparse gradient goes straight into a leaf: few operations take one.
    const bool leaf = draft_.scenario.values[at(to)].origin == Value::Origin::leaf;
    if (plan_.sparse && leaf && input.shape.size() == 1 && !hooked_leaves()) {
      result.kind = Kind::constant;
      result.constant->layout = Layout::sparse;
      result.constant->values = {5};
      result.constant->coordinates = SparseCoordinates{1, {0}, true};
    }
  } else if (kind == 6) {
    result.kind = Kind::pass;
    result.slot = slot;
  } else {
    const double factor = std::array{1.0, 2.0, 3.0, -1.0, 0.0, 5.0}[kind % 6];
    result.terms.push_back({slot, factor, no_id});
    if (!custom.saves.empty() && choices_.one_in(3)) result.terms[0].times = custom.saves[0];
    if (slots > 1 && choices_.one_in(3)) {
      result.terms.push_back({(slot + 1) % static_cast<std::int32_t>(slots), 2, no_id});
    }
  }
  return result;
}

// One thing is wrong: the number, a shape, a type, a device, or a NaN.
void NodeMaker::wrong_backward(std::vector<Expression>& returns) {
  Expression& last = returns.back();
  const std::uint32_t kind = choices_.below(5);
  if (kind == 0) {
    returns.push_back(returns.back());
    return;
  }
  if (kind == 1) {
    returns.pop_back();
    return;
  }
  Known wrong;
  wrong.shape = {5};
  wrong.type = plan_.type;
  if (kind == 2) wrong.type = ScalarType::complex128;
  if (kind == 3 && plan_.sim) wrong.device = {DeviceType::sim, 0};
  last = Expression();
  last.kind = Expression::Kind::constant;
  last.constant = TensorValue::filled(wrong.shape, 1, wrong.type);
  if (kind == 2) last.constant->values.resize(10, 0);
  last.constant->device = wrong.device;
}

void NodeMaker::custom_backward(Making& making) {
  CustomNode& custom = *making.node.custom;
  const Known& input = of(making.node.inputs[0]);
  double factor = static_cast<double>(making.outputs);
  if (!choices_.one_in(3)) {
    std::vector<Expression> returns;
    for (std::size_t i = 0; i < making.node.inputs.size(); ++i) {
      returns.push_back(gradient_for(making, making.node.inputs[i]));
    }
    if (plan_.errors && choices_.one_in(6)) wrong_backward(returns);
    if (plan_.nan && !returns.empty() && choices_.one_in(6)) {
      returns[0] = Expression();
      returns[0].kind = Expression::Kind::constant;
      returns[0].constant = small_integers(input, 0);
      returns[0].constant->values[0] = std::numeric_limits<double>::quiet_NaN();
    }
    custom.backward.returns = std::move(returns);
    factor = 9 * (custom.saves.empty() ? 1 : input.range);
  }
  making.factors[0] = factor;
}

// ---- Into the scenario

// Whether the node keeps all sums exact; fills in the bounds.
bool NodeMaker::settle(Making& making) {
  making.output.spread = 1;
  for (std::size_t i = 0; i < making.node.inputs.size(); ++i) {
    making.output.spread += std::max(1.0, making.factors[i]) * of(making.node.inputs[i]).spread;
  }
  making.output.range = std::max(1.0, making.output.range);
  return draft_.is_exact(making.output.spread, making.output.range);
}

void NodeMaker::place(Making&& making) {
  const auto id = static_cast<NodeId>(draft_.scenario.nodes.size());
  const bool in_place = spec_of(making.node.operation).in_place;
  const std::size_t item = draft_.items();
  draft_.cost.push_back(1);
  if (making.node.custom) {
    const Place place{static_cast<std::int32_t>(item),
                      static_cast<std::int32_t>(making.outputs),
                      thread_,
                      true,
                      true,
                      true};
    making.node.custom->backward.steps = script_steps(draft_, choices_, place);
  }
  Known& output = making.output;
  output.item = static_cast<std::int32_t>(item);
  output.thread = thread_;
  for (const ValueId input : making.node.inputs) {
    output.tracked = output.tracked || of(input).tracked;
    output.reach |= of(input).reach;
    output.row_major = output.row_major && of(input).row_major;
  }
  const Operation operation = making.node.operation;
  if (operation == Operation::transpose || operation == Operation::expand) {
    output.row_major = false;
  }
  if (operation == Operation::detach) {
    output.tracked = false;
    output.reach = 0;
  }
  if (output.tracked) output.reach |= bit(item);
  const Known first = of(making.node.inputs[0]);
  output.detached = operation == Operation::detach || (making.shares && first.detached);
  output.storage = making.shares ? first.storage : new_storage(draft_);
  const bool fresh = !making.shares && !making.node.custom;
  const bool plain_view = making.shares && making.node.operation != Operation::expand &&
                          making.node.operation != Operation::unbind &&
                          making.node.operation != Operation::detach;
  // A thread may not change what others see, so no view of it either.
  output.may_change = fresh || (plain_view && first.may_change && first.thread == thread_);
  making.node.name = fmt::format("n{}", id);
  if (making.node.attributes.empty()) {
    making.node.attributes.resize(spec_of(making.node.operation).attributes.size());
  }
  for (std::size_t i = 0; i < making.outputs; ++i) {
    const std::string name =
        making.outputs == 1 ? making.node.name : fmt::format("{}.{}", making.node.name, i);
    making.node.outputs.push_back(draft_.add_value(name, Value::Origin::node_output, id,
                                                   static_cast<std::int32_t>(i), output));
  }
  if (in_place) {  // every other name of these elements has this history now
    for (Known& known : draft_.known) {
      if (known.storage != output.storage) continue;
      known.range = std::max(known.range, output.range);
      if (known.detached) continue;
      known.reach |= output.reach;
      known.tracked = known.tracked || output.tracked;
      known.spread = std::max(known.spread, output.spread);
    }
  }
  StreamId stream = no_id;
  if (draft_.plan.streams) {
    stream = static_cast<StreamId>(choices_.below(draft_.scenario.streams.size()));
  }
  draft_.node_streams.push_back(stream);
  draft_.node_items.push_back(static_cast<std::int32_t>(item));
  draft_.node_threads.push_back(thread_);
  const ValueId value = making.node.outputs[choices_.below(making.outputs)];
  draft_.scenario.nodes.push_back(std::move(making.node));
  if (draft_.of(value).tracked && !in_place) add_hooks(draft_, choices_, value, id);
}

void NodeMaker::make() {
  if (plan_.threads > 0 && choices_.one_in(2)) {
    thread_ = static_cast<std::int32_t>(choices_.below(static_cast<std::size_t>(plan_.threads)));
  }
  if (any() == no_id) return;
  Making making = choices_.one_in(2) ? custom() : built_in();
  if (!settle(making)) {
    making = harmless();
    if (!settle(making)) return;
  }
  place(std::move(making));
}

}  // namespace

void add_node(Draft& draft, Choices& choices) {
  NodeMaker(draft, choices).make();
}

}  // namespace gradcts::fuzz
