#include "fuzz/generate.h"

#include <fmt/format.h>

#include "fuzz/draft.h"

namespace gradcts::fuzz {

namespace {

// SplitMix64: a number that looks random for each number.
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

void resolve_stand_ins(Scenario& scenario) {
  const auto resolve = [&](NodeId& node) {
    if (node < no_id) node = accumulator_of(scenario, stand_in(node));
  };
  for (Hook& hook : scenario.hooks) resolve(hook.node);
  for_each_step(scenario, [&](Step& step) {
    if (auto* observe = std::get_if<ObserveStep>(&step.action)) resolve(observe->node);
  });
}

void add_header(Draft& draft, Choices& header) {
  const std::uint32_t limit = header.below(8);
  if (limit >= 5 && draft.plan.nesting_limit)
    draft.scenario.configuration.nesting_limit = static_cast<std::int32_t>(limit - 4);
  draft.scenario.configuration.strict_validation =
      draft.plan.errors && header.one_in(4) && draft.plan.strict;
  if (header.one_in(4)) draft.scenario.trace = Trace::scripted;
  if (draft.plan.streams) {
    draft.scenario.streams = {{"s0", {DeviceType::sim, 0}}, {"s1", {DeviceType::sim, 0}}};
    if (header.one_in(3)) draft.scenario.streams.push_back({"s2", {DeviceType::sim, 0}});
  }
  if (draft.plan.locks) draft.scenario.locks = {{"m0"}};
}

// The first byte of a record: a step of the program, a leaf, or a node.
enum class RecordKind { node, leaf, step };
RecordKind kind_of(Bytes record) {
  if (record[0] >= 176) return RecordKind::step;
  return record[0] % 6 == 5 ? RecordKind::leaf : RecordKind::node;
}

}  // namespace

Scenario decode(Bytes bytes, const Claims& claims) {
  Choices header(bytes.subspan(0, std::min(bytes.size(), header_size)));
  Draft draft(header, claims);
  add_header(draft, header);
  std::vector<Bytes> program;
  Choices simplest{Bytes()};
  Bytes rest = bytes.subspan(std::min(bytes.size(), header_size));
  const std::size_t records = std::min(most_records, (rest.size() + record_size - 1) / record_size);
  draft.expect_items(std::min(records, most_items));
  add_leaf(draft, simplest);
  for (std::size_t i = 0; i < records; ++i) {
    const Bytes record = rest.subspan(0, std::min(rest.size(), record_size));
    rest = rest.subspan(record.size());
    const RecordKind kind = kind_of(record);
    Choices choices(record.subspan(1));
    const bool room = draft.items() < most_items;
    if (kind == RecordKind::step) program.push_back(record.subspan(1));
    if (kind == RecordKind::leaf && room) add_leaf(draft, choices);
    if (kind == RecordKind::node && room) add_node(draft, choices);
  }
  if (draft.scenario.nodes.empty()) add_node(draft, simplest);
  add_program(draft, program);
  Scenario scenario = std::move(draft.scenario);
  resolve_stand_ins(scenario);
  scenario.id = "fuzz/case";
  scenario.title = "A random case";
  scenario.clauses = {"TOPO-1"};
  number_steps(scenario);
  return scenario;
}

std::vector<std::uint8_t> case_bytes(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t state = mixed(mixed(seed) ^ number);
  const std::size_t records = 10 + state % 38;
  std::vector<std::uint8_t> bytes(header_size + records * record_size);
  static_assert(header_size % 8 == 0 && record_size % 8 == 0);
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    state = mixed(state);
    for (std::size_t byte = 0; byte < 8; ++byte) {
      bytes[i + byte] = static_cast<std::uint8_t>(state >> (8 * byte));
    }
  }
  return bytes;
}

Scenario random_scenario(std::uint64_t seed, std::uint64_t number, const Claims& claims) {
  Scenario scenario = decode(case_bytes(seed, number), claims);
  scenario.id = fmt::format("fuzz/{}/{}", seed, number);
  return scenario;
}

}  // namespace gradcts::fuzz
