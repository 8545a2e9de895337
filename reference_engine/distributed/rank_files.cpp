#include "reference_engine/distributed/rank_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "reference_engine/error.h"

namespace gradcts::reference {

// Memory of all ranks: zero until its rank comes.
struct RankFiles::Seat {
  std::atomic<std::int64_t> is_taken;  // and was, if its rank is gone
  std::atomic<std::int64_t> position;  // grows: see position_of()
  std::atomic<std::uint32_t> what;     // written before the position
};

namespace {

static_assert(std::atomic<std::int64_t>::is_always_lock_free, "ranks are processes");

// Of a later round, or later in the round: more. 0 is before all.
std::int64_t position_of(const Collective& at) {
  return (at.round << 32) + at.number + 1;
}

std::string of_rank(int rank) {
  return "rank " + std::to_string(rank);
}

struct flock byte_of(int rank) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

std::string path_of_reason(const std::string& folder, int rank) {
  return folder + "/rank " + std::to_string(rank) + " gave up";
}

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw Error(ErrorCategory::rank_failure,
              what + " " + path + ": " + std::system_category().message(error));
}

}  // namespace

RankFiles::RankFiles(std::string folder, int rank, int size)
    : folder_(std::move(folder)), rank_(rank), size_(size) {
  std::filesystem::create_directories(folder_);
  const std::string path = folder_ + "/seats";
  const std::size_t bytes = sizeof(Seat) * static_cast<std::size_t>(size);
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_ < 0) fail("ranks cannot meet at", path, errno);
  const auto give_back = [&](const std::string& what) {
    const int error = errno;
    close(file_);
    fail(what, path, error);
  };
  struct flock mine = byte_of(rank);
  if (fcntl(file_, F_OFD_SETLK, &mine) != 0) {
    give_back("there is another " + of_rank(rank) + " of " + std::to_string(size) + " at");
  }
  if (ftruncate(file_, static_cast<off_t>(bytes)) != 0) give_back("ranks cannot meet at");
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) give_back("ranks cannot meet at");
  seats_ = static_cast<Seat*>(memory);
  seats_[rank].is_taken = 1;
}

RankFiles::~RankFiles() {
  munmap(seats_, sizeof(Seat) * static_cast<std::size_t>(size_));
  close(file_);
}

std::string RankFiles::folder_of(std::int64_t round) const {
  const std::string folder = folder_ + "/round " + std::to_string(round);
  std::error_code whoever_uses_it_says_so;
  std::filesystem::create_directories(folder, whoever_uses_it_says_so);
  return folder;
}

void RankFiles::arrive(const Collective& at) {
  seats_[rank_].what = at.what;
  seats_[rank_].position = position_of(at);
}

// The file is there in one piece or not at all.
void RankFiles::give_up(std::int64_t round, const std::string& reason) {
  const std::string path = path_of_reason(folder_of(round), rank_);
  std::ofstream(path + ".new") << reason;
  std::error_code nobody_is_told;  // the others see the connection end
  std::filesystem::rename(path + ".new", path, nobody_is_told);
}

template <typename Describe>
std::string RankFiles::first_other(Describe describe) const {
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    const std::string text = describe(rank);
    if (!text.empty()) return of_rank(rank) + " " + text;
  }
  return "";
}

bool RankFiles::is_gone(int rank) const {
  if (!seats_[rank].is_taken) return false;
  struct flock asked = byte_of(rank);
  return fcntl(file_, F_OFD_GETLK, &asked) == 0 && asked.l_type == F_UNLCK;
}

std::optional<std::string> RankFiles::reason_of(int rank, std::int64_t round) const {
  std::ifstream file(path_of_reason(folder_of(round), rank));
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Who left without a word comes first: the others give up because of it.
std::string RankFiles::who_is_lost(std::int64_t round) const {
  const std::string gone = first_other([&](int rank) {
    const bool is_lost = is_gone(rank) && !reason_of(rank, round);
    return std::string(is_lost ? "has left the group" : "");
  });
  if (!gone.empty()) return gone;
  return first_other([&](int rank) {
    const auto reason = reason_of(rank, round);
    return reason ? "gave up: " + *reason : std::string();
  });
}

// Of a rank that is just giving the round up it may say so too.
std::string RankFiles::who_differs(const Collective& from) const {
  return first_other([&](int rank) -> std::string {
    const Seat& seat = seats_[rank];
    const bool is_there = seat.position == position_of(from);
    return is_there && seat.what != from.what ? "reduces something else" : "";
  });
}

std::string RankFiles::who_is_missing(const Collective& at) const {
  return first_other([&](int rank) {
    return std::string(seats_[rank].position < position_of(at) ? "did not come" : "");
  });
}

std::string RankFiles::who_never_came() const {
  return first_other(
      [&](int rank) { return std::string(seats_[rank].is_taken ? "" : "did not come"); });
}

}  // namespace gradcts::reference
