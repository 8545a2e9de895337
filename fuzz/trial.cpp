#include "fuzz/trial.h"

#include <fmt/format.h>

#include "conformance/adapters/description.h"
#include "conformance/adapters/reference/reference_adapter.h"
#include "conformance/checker/checker.h"
#include "conformance/runner/adapter_library.h"
#include "conformance/runner/engine_locator.h"
#include "conformance/scenario/json.h"

namespace gradcts::fuzz {

namespace {

Finding not_judged(std::string why) {
  return {Finding::Kind::not_judged, "", std::move(why), {}};
}

Finding adapter_failure(const std::string& what) {
  return {Finding::Kind::fail, "adapter", what, {what}};
}

Finding judged(const Scenario& scenario, const Expectation& expectation, const Outcome& outcome) {
  if (!outcome.unsupported.empty()) {
    return {Finding::Kind::unsupported, "", outcome.unsupported, {}};
  }
  const Verdict verdict = check({scenario, expectation, outcome});
  if (verdict.kind == VerdictKind::pass) return {};
  if (verdict.findings.empty()) return not_judged(verdict.detail);
  std::vector<std::string> texts = texts_of(verdict, outcome);
  return {Finding::Kind::fail, verdict.findings.front().clause, texts.front(), texts};
}

class LinkedReference final : public Engine {
 public:
  Finding run(const Scenario& scenario) override {
    const Expectation expectation = expect(scenario, dialect_);
    if (!expectation.cannot_tell.empty()) return not_judged(expectation.cannot_tell);
    return judged(scenario, expectation,
                  run_on_reference(std::make_shared<const Scenario>(scenario)));
  }
  const Dialect& dialect() const override { return dialect_; }

 private:
  const Dialect dialect_ = describe_reference().make_dialect();
};

class LoadedAdapter final : public Engine {
 public:
  explicit LoadedAdapter(const std::string& path) : library_(path) {
    const AdapterLibrary::Reply reply = library_.describe();
    if (!reply.ok) throw UnusableEngine(fmt::format("{}: {}", path, reply.text));
    dialect_ = read_description(parse_json(reply.text)).make_dialect();
  }

  Finding run(const Scenario& scenario) override {
    const Expectation expectation = expect(scenario, dialect_);
    if (!expectation.cannot_tell.empty()) return not_judged(expectation.cannot_tell);
    const AdapterLibrary::Reply reply = library_.run(write_scenario(scenario).dump());
    if (!reply.ok) return adapter_failure(reply.text);
    try {
      return judged(scenario, expectation, read_outcome(parse_json(reply.text), scenario));
    } catch (const FormatError& error) {
      return adapter_failure(error.what());
    }
  }
  const Dialect& dialect() const override { return dialect_; }

 private:
  AdapterLibrary library_;
  Dialect dialect_;
};

}  // namespace

std::vector<std::string> texts_of(const Verdict& verdict, const Outcome& outcome) {
  std::vector<std::string> texts;
  for (const gradcts::Finding& one : verdict.findings) {
    texts.push_back(
        fmt::format("{}: expected {}, observed {}", one.where, one.expected, one.observed));
  }
  for (const StepResult& step : outcome.steps) {
    if (step.error) texts.push_back(step.error->text);
  }
  return texts;
}

std::unique_ptr<Engine> open_engine(const std::string& name_or_path) {
  if (name_or_path == "reference") return std::make_unique<LinkedReference>();
  return std::make_unique<LoadedAdapter>(find_engine(name_or_path).path);
}

}  // namespace gradcts::fuzz
