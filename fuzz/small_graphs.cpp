#include "fuzz/small_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "conformance/scenario/builder.h"
#include "fuzz/covering.h"

namespace gradcts::fuzz {

namespace {

// ------------------------------------------------------------------------------------------------
// The choices for a shape, as far as they are claimed; the first of each is the plain one

struct AllChoices {
  std::vector<Oddity> oddities{{}};
  std::vector<SmallHook> hooks{{}};
  std::vector<Question> questions{{}};
  std::vector<Again> again{Again::no};
  std::vector<Leaves> leaves{Leaves::own, Leaves::shared, Leaves::everywhere, Leaves::constants};
  std::vector<HookAction> actions{HookAction::keeps, HookAction::multiplies};
  std::vector<int> outputs{1, 2};

  // In the order of Variant's members.
  std::vector<std::uint64_t> levels() const {
    return {oddities.size(), hooks.size(),   questions.size(), again.size(),
            leaves.size(),   actions.size(), outputs.size()};
  }
  Variant variant(const std::vector<std::uint64_t>& row) const {
    return {oddities[row[0]], hooks[row[1]],   questions[row[2]], again[row[3]],
            leaves[row[4]],   actions[row[5]], outputs[row[6]]};
  }
};

void add_oddities(const Shape& shape, const Claims& claims, std::vector<Oddity>& list) {
  for (int node = 0; node < shape.nodes; ++node) {
    for (const int used : shape.uses[static_cast<std::size_t>(node)]) {
      if (claims.has("custom.undefined")) list.push_back({Oddity::Kind::undefined, node, used});
      list.push_back({Oddity::Kind::double_edge, node, used});
    }
    list.push_back({Oddity::Kind::error, node, 0});
    list.push_back({Oddity::Kind::second_root, node, 0});
  }
}

void add_hooks(const Shape& shape, const Claims& claims, std::vector<SmallHook>& list) {
  using Kind = SmallHook::Kind;
  const auto add = [&](Kind kind, const std::vector<int>& nodes,
                       std::initializer_list<const char*> features) {
    const auto claimed = [&](const char* feature) { return claims.has(feature); };
    if (!std::all_of(features.begin(), features.end(), claimed)) return;
    for (const int node : nodes) list.push_back({kind, node});
  };
  std::vector<int> all;
  for (int node = 0; node < shape.nodes; ++node) all.push_back(node);
  const std::vector<int> sinks = shape.sinks();
  add(Kind::tensor, all, {"hook.tensor"});
  add(Kind::retain_grad, all, {"hook.retain_grad"});
  add(Kind::node_pre, all, {"hook.node_pre"});
  add(Kind::node_post, all, {"hook.node_post"});
  add(Kind::leaf_tensor, sinks, {"hook.tensor"});
  add(Kind::leaf_pre, sinks, {"hook.node_pre", "hook.on_accumulator"});
  add(Kind::leaf_post, sinks, {"hook.node_post", "hook.on_accumulator"});
  add(Kind::leaf_post_accumulate, sinks, {"hook.post_accumulate"});
}

void add_questions(const Shape& shape, const Claims& claims, std::vector<Question>& list) {
  using Way = Question::Way;
  using Of = Question::Of;
  const auto add_for_each = [&](Way way, bool non_leaves) {
    list.push_back({way, Of::leaves, 0});
    list.push_back({way, Of::twice, 0});
    if (!non_leaves) return;
    list.push_back({way, Of::everything, 0});
    for (int node = 0; node < shape.nodes; ++node) list.push_back({way, Of::node, node});
  };
  if (claims.has("pass.inputs")) add_for_each(Way::inputs, claims.has("pass.inputs.non_leaf"));
  if (!claims.has("pass.grad")) return;
  add_for_each(Way::grad, true);
  list.push_back({Way::grad, Of::unused, 0});
  if (claims.has("pass.allow_unused")) list.push_back({Way::grad, Of::allowed, 0});
  if (claims.has("hook.capture")) add_for_each(Way::grad_with_capture_hook, true);
}

AllChoices choices_for(const Shape& shape, const Claims& claims) {
  AllChoices choices;
  add_oddities(shape, claims, choices.oddities);
  add_hooks(shape, claims, choices.hooks);
  add_questions(shape, claims, choices.questions);
  choices.again.push_back(Again::refused);
  if (claims.has("pass.keep")) choices.again.push_back(Again::kept);
  if (claims.has("pass.create_graph") && claims.has("pass.grad") && claims.has("keep.handle")) {
    choices.again.push_back(Again::create);
  }
  if (claims.has("custom.undefined")) choices.actions.push_back(HookAction::makes_undefined);
  return choices;
}

// ------------------------------------------------------------------------------------------------
// What a case is called

std::string text_of(const Oddity& oddity) {
  switch (oddity.kind) {
    case Oddity::Kind::none:
      return "";
    case Oddity::Kind::undefined:
      return fmt::format(", n{} gives nothing to n{}", oddity.node, oddity.used);
    case Oddity::Kind::double_edge:
      return fmt::format(", n{} uses n{} twice", oddity.node, oddity.used);
    case Oddity::Kind::error:
      return fmt::format(", n{} throws", oddity.node);
    case Oddity::Kind::second_root:
      return fmt::format(", n{} is a root too", oddity.node);
  }
  return "";
}

std::string text_of(const SmallHook& hook) {
  constexpr std::array kinds{"",
                             "tensor",
                             "retain-grad",
                             "pre",
                             "post",
                             "leaf's tensor",
                             "accumulator's pre",
                             "accumulator's post",
                             "post-accumulate"};
  if (hook.kind == SmallHook::Kind::none) return "";
  return fmt::format(", {} hook at n{}", kinds[static_cast<std::size_t>(hook.kind)], hook.node);
}

std::string text_of(const Question& question) {
  constexpr std::array ways{"backward", "backward into", "grad of", "grad with a capture hook of"};
  constexpr std::array sets{"the leaves",
                            "n",
                            "everything",
                            "a leaf twice",
                            "a leaf that is not reached",
                            "a leaf that need not be reached"};
  if (question.way == Question::Way::backward) return ways[0];
  std::string text = fmt::format("{} {}", ways[static_cast<std::size_t>(question.way)],
                                 sets[static_cast<std::size_t>(question.of)]);
  if (question.of == Question::Of::node) text += std::to_string(question.node);
  return text;
}

// ------------------------------------------------------------------------------------------------
// The scenario of a variant

class SmallGraph {
 public:
  SmallGraph(const Shape& shape, const Variant& variant, std::string id)
      : shape_(shape), variant_(variant), b_(std::move(id)) {}

  Scenario make() {
    make_leaves();
    for (int node = shape_.nodes - 1; node >= 0; --node) make_node(node);
    make_hook();
    b_.forward(all_outputs());
    b_.attempt([&] { add_passes(); });
    if (may_make_anew()) add_fresh_pass();
    b_.title(fmt::format("{} nodes: {}{}{}", shape_.nodes, text_of(variant_.question),
                         text_of(variant_.oddity), text_of(variant_.hook)));
    return b_.build();
  }

 private:
  std::vector<ValueId>& outputs_of(int node) { return outputs_[static_cast<std::size_t>(node)]; }
  bool is_odd(Oddity::Kind kind, int node) const {
    return variant_.oddity.kind == kind && variant_.oddity.node == node;
  }

  // A tensor that is made anew while its `.grad` has a history may stay alive (GRAPH2-4). And
  // whether a pass that is refused for an input which it does not reach has run its nodes before is
  // free: the error of one may be over or not.
  bool may_make_anew() const {
    const bool refused = variant_.question.of == Question::Of::unused;
    return variant_.again != Again::create &&
           !(refused && variant_.oddity.kind == Oddity::Kind::error);
  }

  void make_leaves() {
    outputs_.resize(static_cast<std::size_t>(shape_.nodes));
    leaf_of_.assign(static_cast<std::size_t>(shape_.nodes), no_id);
    const bool everywhere = variant_.leaves == Leaves::everywhere;
    for (int node = 0; node < shape_.nodes; ++node) {
      if (!everywhere && !shape_.uses[static_cast<std::size_t>(node)].empty()) continue;
      if (variant_.leaves != Leaves::shared || leaves_.empty()) {
        leaves_.push_back(b_.leaf(fmt::format("x{}", node), leaves_.size() % 2 == 0 ? 2 : -1));
      }
      leaf_of_[static_cast<std::size_t>(node)] = leaves_.back();
    }
    if (variant_.leaves == Leaves::constants) constant_ = b_.constant_leaf("c", 2);
    const Question::Of of = variant_.question.of;
    if (of == Question::Of::unused || of == Question::Of::allowed) aside_ = b_.leaf("aside", 3);
  }

  // What the node takes: of the nodes it uses an output in turn, its leaf, the constant.
  std::vector<ValueId> inputs_of(int node) {
    std::vector<ValueId> inputs;
    const auto use = [&](int used) {
      const auto& outputs = outputs_of(used);
      inputs.push_back(outputs[inputs.size() % outputs.size()]);
    };
    for (const int used : shape_.uses[static_cast<std::size_t>(node)]) {
      use(used);
      if (is_odd(Oddity::Kind::double_edge, node) && variant_.oddity.used == used) use(used);
    }
    const ValueId leaf = leaf_of_[static_cast<std::size_t>(node)];
    if (leaf != no_id) inputs.push_back(leaf);
    if (constant_ != no_id) inputs.push_back(constant_);
    return inputs;
  }

  Expression gradient(int node, std::size_t input, ValueId saved) const {
    const auto factor = static_cast<double>(1 + (static_cast<std::size_t>(node) + input) % 3);
    if (variant_.outputs == 1) return product(0, saved, factor);
    return sum_of({{0, factor, saved}, {1, factor + 1, saved}});
  }

  void make_node(int node) {
    const std::vector<ValueId> inputs = inputs_of(node);
    CustomNode custom;
    custom.saves = {inputs[0]};
    custom.forward.assign(static_cast<std::size_t>(variant_.outputs), scaled(1));
    custom.backward.returns.emplace();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      custom.backward.returns->push_back(gradient(node, i, inputs[0]));
    }
    if (is_odd(Oddity::Kind::undefined, node)) {
      const auto& uses = shape_.uses[static_cast<std::size_t>(node)];
      const auto edge = std::find(uses.begin(), uses.end(), variant_.oddity.used) - uses.begin();
      (*custom.backward.returns)[static_cast<std::size_t>(edge)] = undefined();
    }
    if (is_odd(Oddity::Kind::error, node)) {
      custom.backward.steps = b_.steps([&] { b_.throw_on_call(1, "t"); });
    }
    const std::string name = fmt::format("n{}", node);
    outputs_of(node) = b_.custom_with_outputs(static_cast<std::size_t>(variant_.outputs), inputs,
                                              std::move(custom), name);
    counts_.resize(static_cast<std::size_t>(shape_.nodes));
    counts_[static_cast<std::size_t>(node)] = inputs.size();
  }

  // A script that is given so many slots and does what the variant says.
  Script hook_script(std::size_t slots) const {
    Script script;
    if (variant_.action == HookAction::keeps) return script;
    script.returns.emplace();
    for (std::size_t slot = 0; slot < slots; ++slot) {
      script.returns->push_back(variant_.action == HookAction::multiplies
                                    ? scaled(2, static_cast<std::int32_t>(slot))
                                    : undefined());
    }
    return script;
  }

  void make_hook() {
    const auto node = static_cast<std::size_t>(variant_.hook.node);
    const ValueId value = outputs_[node][0];
    const ValueId leaf = leaf_of_[node];
    switch (variant_.hook.kind) {
      case SmallHook::Kind::none:
        return;
      case SmallHook::Kind::tensor:
        b_.tensor_hook(value, hook_script(1));
        return;
      case SmallHook::Kind::retain_grad:
        b_.retain_grad(value);
        return;
      case SmallHook::Kind::node_pre:
        b_.node_pre_hook(b_.node_of(value), hook_script(outputs_[node].size()));
        return;
      case SmallHook::Kind::node_post:
        b_.node_post_hook(b_.node_of(value), hook_script(counts_[node]));
        return;
      case SmallHook::Kind::leaf_tensor:
        b_.tensor_hook(leaf, hook_script(1));
        return;
      case SmallHook::Kind::leaf_pre:
        b_.node_pre_hook(b_.accumulator(leaf), hook_script(1));
        return;
      case SmallHook::Kind::leaf_post:
        b_.node_post_hook(b_.accumulator(leaf));
        return;
      case SmallHook::Kind::leaf_post_accumulate:
        b_.post_accumulate_hook(leaf);
        return;
    }
  }

  // ---- The program

  std::vector<RootArgument> roots() {
    std::vector<RootArgument> roots{{outputs_of(0)[0], 5}};
    if (variant_.oddity.kind == Oddity::Kind::second_root) {
      roots.push_back({outputs_of(variant_.oddity.node).back(), 7});
    }
    return roots;
  }

  std::vector<ValueId> asked() {
    std::vector<ValueId> everything;
    switch (variant_.question.of) {
      case Question::Of::leaves:
        return leaves_;
      case Question::Of::node:
        return {outputs_of(variant_.question.node)[0]};
      case Question::Of::twice:
        return {leaves_[0], leaves_[0]};
      case Question::Of::unused:
      case Question::Of::allowed:
        return {leaves_[0], aside_};
      case Question::Of::everything:
        for (const auto& outputs : outputs_) everything.push_back(outputs[0]);
        everything.insert(everything.end(), leaves_.begin(), leaves_.end());
    }
    return everything;
  }

  // Returns a gradient that the pass has given.
  ValueId add_pass(bool keep, bool create) {
    PassOptions options;
    options.keep = keep;
    options.create = create;
    options.allow_unused = variant_.question.of == Question::Of::allowed;
    const std::vector<ValueId> inputs = asked();
    switch (variant_.question.way) {
      case Question::Way::backward:
        b_.backward(roots(), options);
        break;
      case Question::Way::inputs:
        b_.backward_into(roots(), inputs, options);
        break;
      case Question::Way::grad_with_capture_hook:
        if (capture_hook_ == no_id) capture_hook_ = b_.capture_hook(hook_script(1));
        options.capture_hooks = {{0, capture_hook_}};
        [[fallthrough]];
      case Question::Way::grad:
        return b_.grad(roots(), inputs, options)[0];
    }
    return create ? b_.keep_grad(inputs[0]) : no_id;
  }

  void add_passes() {
    const Again again = variant_.again;
    const ValueId first = add_pass(again == Again::kept, again == Again::create);
    if (variant_.question.way == Question::Way::inputs) b_.read_grads(asked());
    if (again == Again::kept || again == Again::refused) add_pass(false, false);
    if (again != Again::create) return;
    PassOptions options;
    options.allow_unused = true;
    b_.grad({{first, 3}}, leaves_, options);
  }

  // After all that, a graph made anew gives what it should, whatever went wrong before.
  void add_fresh_pass() {
    b_.forward(all_outputs());
    b_.backward({{outputs_of(0)[0], -3}});
    const bool retains = variant_.hook.kind == SmallHook::Kind::retain_grad;
    std::vector<ValueId> read = leaves_;
    if (retains) read.push_back(outputs_of(variant_.hook.node)[0]);
    b_.read_grads(std::move(read));
  }

  std::vector<ValueId> all_outputs() const {
    std::vector<ValueId> made;
    for (auto outputs = outputs_.rbegin(); outputs != outputs_.rend(); ++outputs) {
      made.push_back((*outputs)[0]);
    }
    return made;
  }

  const Shape& shape_;
  const Variant& variant_;
  ScenarioBuilder b_;
  std::vector<std::vector<ValueId>> outputs_;  // of each node
  std::vector<std::size_t> counts_;            // of each node's inputs
  std::vector<ValueId> leaf_of_;               // of each node, or no_id
  std::vector<ValueId> leaves_;                // each once
  ValueId constant_ = no_id, aside_ = no_id;
  HookId capture_hook_ = no_id;
};

bool gets_pairs(const Shape& shape) {
  return shape.nodes <= most_nodes_in_pairs;
}

std::uint64_t rows_of(const Shape& shape, const Claims& claims) {
  const std::uint64_t prime = prime_for(choices_for(shape, claims).levels());
  return gets_pairs(shape) ? prime * prime : prime;
}

}  // namespace

// ------------------------------------------------------------------------------------------------

SmallGraphs::SmallGraphs(int most_nodes, Claims claims) : claims_(std::move(claims)), starts_{0} {
  for (int nodes = 1; nodes <= most_nodes; ++nodes) {
    for (std::uint64_t shape = 0; shape < count_shapes(nodes); ++shape) {
      starts_.push_back(starts_.back() + rows_of(make_shape(nodes, shape), claims_));
    }
  }
}

SmallGraphs::Place SmallGraphs::place_of(std::uint64_t shape) const {
  int nodes = 1;
  while (shape >= count_shapes(nodes)) shape -= count_shapes(nodes++);
  return {nodes, shape};
}

Scenario SmallGraphs::scenario(std::uint64_t number) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), number);
  const auto index = static_cast<std::uint64_t>(after - starts_.begin()) - 1;
  const std::uint64_t row = number - starts_[index];
  const Place place = place_of(index);
  const Shape shape = make_shape(place.nodes, place.shape);
  const AllChoices choices = choices_for(shape, claims_);
  const std::vector<std::uint64_t> levels = choices.levels();
  const std::uint64_t prime = prime_for(levels);
  const std::uint64_t a = gets_pairs(shape) ? row / prime : row;
  const std::uint64_t b = gets_pairs(shape) ? row % prime : (row + index) % prime;
  const Variant variant = choices.variant(covering_row(levels, prime, a, b));
  return SmallGraph(shape, variant, fmt::format("small/{}/{}/{}", place.nodes, place.shape, row))
      .make();
}

}  // namespace gradcts::fuzz
