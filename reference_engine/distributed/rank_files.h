// What the ranks of a group on one machine tell each other by files, beside the connections that
// carry their sums: who is there, how far each is, who has given up and why. Connections say only
// that they broke; these files say who is to blame (RED-11).
//
// Note [Who lives]
// ~~~~~~~~~~~~~~~~
// A rank holds a lock on its byte of a file for as long as its object lives. The kernel lets it go
// when the process ends, in whatever way, so a rank whose byte is free is gone, and no rank has to
// tell. What a rank does now is in memory that all map, and costs a store a collective.
//
// Thread safety: all functions may be called from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gradcts::reference {

// A collective: the `number`-th (from 0) of the rank in the round. `what` is a number made of all
// in which ranks must agree.
struct Collective {
  std::int64_t round;
  std::int64_t number;
  std::uint32_t what;
};

class RankFiles {
 public:
  // Takes the rank's seat. Throws Error(rank_failure) where that cannot be.
  RankFiles(std::string folder, int rank, int size);
  ~RankFiles();
  RankFiles(const RankFiles&) = delete;
  RankFiles& operator=(const RankFiles&) = delete;

  // For what else the ranks leave for each other in a round. It is made.
  std::string folder_of(std::int64_t round) const;

  // From now on the rank is at this collective.
  void arrive(const Collective& at);
  void give_up(std::int64_t round, const std::string& reason);

  // Another rank, and what it did, as a sentence for messages; empty where there is none.
  std::string who_is_lost(std::int64_t round) const;       // gone, or has given the round up
  std::string who_differs(const Collective& from) const;   // is at it, and reduces something else
  std::string who_is_missing(const Collective& at) const;  // has not come to it yet
  std::string who_never_came() const;                      // has not taken its seat

 private:
  struct Seat;
  // The first of the other ranks for which `describe` says something.
  template <typename Describe>
  std::string first_other(Describe describe) const;
  bool is_gone(int rank) const;
  std::optional<std::string> reason_of(int rank, std::int64_t round) const;  // why it gave up

  const std::string folder_;
  const int rank_;
  const int size_;
  int file_ = -1;
  Seat* seats_ = nullptr;  // by rank, in memory of all
};

}  // namespace gradcts::reference
