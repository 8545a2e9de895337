#include "fuzz/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <stdexcept>

namespace gradcts::fuzz {

namespace {

constexpr const char* tables = R"(
create table if not exists campaign(name text primary key, value text not null);
create table if not exists chunk(number integer primary key, passed integer, unsupported integer,
                                 not_judged integer);
create table if not exists failure(number integer primary key, chunk integer, clause text,
                                   detail text, size integer);
create index if not exists failure_in_group on failure(clause, size, number);
create table if not exists reason(chunk integer, text text, cases integer,
                                  primary key(chunk, text));
create table if not exists shrunk(clause text primary key, number integer, size integer,
                                  flaky integer, scenario text);
)";

// One statement, with its parameters in order.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK) fail();
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::uint64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(number));
    return *this;
  }
  Statement& bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  bool next() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail();
    return code == SQLITE_ROW;
  }
  std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr ? "" : bytes;
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error(sqlite3_errmsg(database_)); }
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

}  // namespace

Store::Store(const std::string& file) {
  if (sqlite3_open(file.c_str(), &database_) != SQLITE_OK) {
    const std::string why = sqlite3_errmsg(database_);
    sqlite3_close(database_);
    throw std::runtime_error(fmt::format("{}: {}", file, why));
  }
  sqlite3_busy_timeout(database_, 60000);
  try {
    run(tables);
  } catch (const std::runtime_error& error) {
    sqlite3_close(database_);
    throw std::runtime_error(fmt::format("{}: {}", file, error.what()));
  }
}

Store::~Store() {
  sqlite3_close(database_);
}

void Store::run(const std::string& sql) {
  if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(database_));
  }
}

void Store::claim(const std::map<std::string, std::string>& identity) {
  for (const auto& [name, value] : identity) {
    Statement known(database_, "select value from campaign where name = ?");
    if (known.bind(name).next()) {
      if (known.text(0) == value) continue;
      throw std::runtime_error(fmt::format("the folder holds a campaign with {} {}, and not {}",
                                           name, known.text(0), value));
    }
    Statement insert(database_, "insert into campaign values(?, ?)");
    insert.bind(name).bind(value).next();
  }
}

bool Store::has(std::uint64_t chunk) {
  Statement query(database_, "select 1 from chunk where number = ?");
  return query.bind(chunk).next();
}

void Store::add(const ChunkResult& result) {
  run("begin immediate");
  Statement chunk(database_, "insert or ignore into chunk values(?, ?, ?, ?)");
  chunk.bind(result.chunk)
      .bind(result.passed)
      .bind(result.unsupported)
      .bind(result.not_judged)
      .next();
  for (const FailedCase& failed : result.failures) {
    Statement insert(database_, "insert or ignore into failure values(?, ?, ?, ?, ?)");
    insert.bind(failed.number).bind(result.chunk).bind(failed.clause).bind(failed.detail);
    insert.bind(failed.size).next();
  }
  for (const auto& [text, cases] : result.reasons) {
    Statement insert(database_, "insert or ignore into reason values(?, ?, ?)");
    insert.bind(result.chunk).bind(text).bind(cases).next();
  }
  run("commit");
}

void Store::add_shrunk(const std::string& clause, std::uint64_t number, const std::string& json,
                       std::size_t size, bool flaky) {
  Statement insert(database_, "insert or replace into shrunk values(?, ?, ?, ?, ?)");
  insert.bind(clause).bind(number).bind(size).bind(std::uint64_t{flaky}).bind(json).next();
}

void Store::merge(const std::string& file) {
  std::map<std::string, std::string> identity;
  {
    Statement attach(database_, "attach ? as other");
    attach.bind(file).next();
    Statement theirs(database_, "select name, value from other.campaign");
    while (theirs.next()) identity[theirs.text(0)] = theirs.text(1);
  }
  if (identity.empty()) throw std::runtime_error(fmt::format("{}: holds no campaign", file));
  claim(identity);
  run("begin immediate;"
      "insert or ignore into chunk select * from other.chunk;"
      "insert or ignore into failure select * from other.failure;"
      "insert or ignore into reason select * from other.reason;"
      "insert into shrunk select * from other.shrunk where true on conflict(clause) do update set "
      "number = excluded.number, size = excluded.size, flaky = excluded.flaky, "
      "scenario = excluded.scenario where excluded.size < size;"
      "commit; detach other");
}

Totals Store::totals() {
  Totals totals;
  Statement chunks(database_,
                   "select count(*), sum(passed), sum(unsupported), sum(not_judged) from chunk");
  chunks.next();
  totals.chunks = chunks.number(0);
  totals.passed = chunks.number(1);
  totals.unsupported = chunks.number(2);
  totals.not_judged = chunks.number(3);
  Statement failures(database_, "select count(*) from failure");
  failures.next();
  totals.failed = failures.number(0);
  return totals;
}

std::vector<Group> Store::groups() {
  std::vector<Group> groups;
  Statement query(database_, R"(
    select f.clause, (select count(*) from failure c where c.clause = f.clause), f.number, f.detail, f.size,
           s.scenario, s.size, s.flaky
    from failure f left join shrunk s on s.clause = f.clause
    where f.number = (select number from failure g where g.clause = f.clause
                      order by g.size, g.number limit 1)
    order by f.clause)");
  while (query.next()) {
    Group group;
    group.clause = query.text(0);
    group.cases = query.number(1);
    group.smallest = {query.number(2), query.text(0), query.text(3), query.number(4)};
    group.shrunk = query.text(5);
    group.shrunk_size = query.number(6);
    group.flaky = query.number(7) != 0;
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<std::pair<std::string, std::uint64_t>> Store::reasons() {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  Statement query(database_,
                  "select text, sum(cases) n from reason group by text order by n desc, text");
  while (query.next()) all.emplace_back(query.text(0), query.number(1));
  return all;
}

}  // namespace gradcts::fuzz
