// Makes a failing schedule easier to read: the same failure with fewer switches between threads.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace gradcts {

// Takes a schedule. Gives back the whole of it, as it was taken, if it fails in the same way.
using StillFails = std::function<std::optional<std::string>(const std::string& schedule)>;

// Tries shorter prefixes, what a thread does in two parts in one, and a switch at an earlier place,
// as long as that helps; takes at most `limit` schedules. Returns the best one, which is `schedule`
// itself if there is none better.
std::string shrink_schedule(std::string schedule, const StillFails& still_fails,
                            std::size_t limit = 400);

// How often another thread goes on in a schedule.
std::size_t switches_in(const std::string& schedule);

}  // namespace gradcts
