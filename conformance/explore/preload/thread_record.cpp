#include "conformance/explore/preload/thread_record.h"

#include <algorithm>
#include <new>

namespace gradcts::schedule {

ThreadRecord& ThreadTable::add() {
  const auto free = std::ranges::find(records_, 0u, &ThreadRecord::birth);
  ThreadRecord* record;
  if (free != records_.end()) {
    record = *free;
  } else {
    record = static_cast<ThreadRecord*>(allocate_pages(sizeof(ThreadRecord)));
    records_.push_back(record);
  }
  new (record) ThreadRecord();
  record->birth = ++births_;
  return *record;
}

ThreadRecord* ThreadTable::find(pthread_t handle) {
  for (ThreadRecord* record : records_) {
    if (record->birth != 0 && !record->detached && pthread_equal(record->handle, handle)) {
      return record;
    }
  }
  return nullptr;
}

ThreadRecord* ThreadTable::first_asleep_on(const void* condition) {
  ThreadRecord* first = nullptr;
  for (ThreadRecord* record : records_) {
    if (record->birth == 0 || record->sleeps_on != condition) continue;
    if (first == nullptr || record->ticket < first->ticket) first = record;
  }
  return first;
}

void ThreadTable::after_fork(ThreadRecord* survivor) {
  for (ThreadRecord* record : records_) {
    if (record != survivor) remove(*record);
  }
}

}  // namespace gradcts::schedule
