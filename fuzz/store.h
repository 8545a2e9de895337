// What a campaign found, in an SQLite file: it can be resumed, merged and asked with `sqlite3`.
//
// A chunk of cases is written in one transaction, so an interruption at any moment, the loss of the
// process included, loses only chunks that were not finished; they run again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;

namespace gradcts::fuzz {

// Tables as the campaign sees them.
struct FailedCase {
  std::uint64_t number = 0;
  std::string clause;  // or "crash", "hang"
  std::string detail;
  std::size_t size = 0;
};
struct ChunkResult {
  std::uint64_t chunk = 0;
  std::uint64_t passed = 0, unsupported = 0, not_judged = 0;
  std::vector<FailedCase> failures;
  std::map<std::string, std::uint64_t> reasons;  // of what was not judged
};
struct Group {
  std::string clause;
  std::uint64_t cases = 0;
  FailedCase smallest;  // as it was found; ties: the lowest number
  std::string shrunk;   // JSON; empty: not shrunk yet
  std::size_t shrunk_size = 0;
  bool flaky = false;
};
struct Totals {
  std::uint64_t chunks = 0, passed = 0, failed = 0, unsupported = 0, not_judged = 0;
  std::uint64_t cases() const { return passed + failed + unsupported + not_judged; }
};

class Store {
 public:
  // Opens or makes the file. Throws std::runtime_error with one clear line.
  explicit Store(const std::string& file);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // What the campaign is (seed, engine, decoder). Throws when the file belongs to another one.
  void claim(const std::map<std::string, std::string>& identity);
  bool has(std::uint64_t chunk);
  void add(const ChunkResult& result);
  void add_shrunk(const std::string& clause, std::uint64_t number, const std::string& json,
                  std::size_t size, bool flaky);
  // Takes over what another store has and this one has not. Throws when it is another campaign's.
  void merge(const std::string& file);
  Totals totals();
  std::vector<Group> groups();  // by clause
  std::vector<std::pair<std::string, std::uint64_t>> reasons();

 private:
  void run(const std::string& sql);
  sqlite3* database_ = nullptr;
};

}  // namespace gradcts::fuzz
