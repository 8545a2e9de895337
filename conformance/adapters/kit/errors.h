// The exceptions that scenarios throw, and the one that the kit throws.
#pragma once

#include <stdexcept>
#include <string>

namespace gradcts::kit {

// Thrown by a `throw` step.
class ScriptedError : public std::runtime_error {
 public:
  explicit ScriptedError(const std::string& token) : std::runtime_error(token) {}
};

// Thrown by a `throw` step that says `foreign`: a type outside the standard hierarchy (ERR-1).
struct ForeignError {
  std::string token;
};

// A step uses a value that is undefined: nothing made it, or the step that makes it failed.
class UndefinedValue : public std::runtime_error {
 public:
  explicit UndefinedValue(const std::string& name)
      : std::runtime_error("the value '" + name +
                           "' is undefined: the step that makes it failed, or gave nothing") {}
};

// An adapter claims what its binding lacks: a fault of the adapter, and the run's.
class NotOffered : public std::logic_error {
 public:
  explicit NotOffered(const std::string& what)
      : std::logic_error("the adapter claims what its binding does not offer: " + what) {}
};

}  // namespace gradcts::kit
