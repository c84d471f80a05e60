#include "runtime/base/Task.h"

#include <utility>

using namespace dgc::rt;

static std::atomic<TaskObserver *> current = nullptr;
static thread_local bool isHidden = false;

void dgc::rt::observeTasks(TaskObserver *observer) { current.store(observer); }

Task::Task(std::string what, uint64_t total, Unit unit, std::string nouns)
    : what(std::move(what)), nouns(std::move(nouns)), total(total), unit(unit),
      observer(isHidden ? nullptr : current.load()) {
  if (observer)
    observer->begins(*this);
}

Task::~Task() {
  if (observer)
    observer->ends(*this);
}

void Task::hideThisThread() { isHidden = true; }

bool Task::isTold() { return !isHidden && current.load() != nullptr; }
