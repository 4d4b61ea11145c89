// Tasks on several threads. Which tasks there are must not depend on the number of threads, nor a result on which
// thread ran what: then every number of threads gives the same bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "base/array.hpp"

namespace sparsebody {

// Calls task(i) for i in [0, n_tasks), on the calling thread and up to `n_threads` - 1 others, which end with the
// call: starting one takes some 20 microseconds, and a process without threads can fork. Tasks begin in order, the
// longest should come first; they must not throw.
template <class Task>
void run_tasks(Index n_tasks, Index n_threads, const Task& task) {
  std::atomic<Index> next = 0;
  const auto work = [&] {
    for (Index i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n_tasks;) task(i);
  };
  std::vector<std::jthread> others;
  for (Index k = 1; k < std::min(n_tasks, n_threads); ++k) others.emplace_back(work);
  work();
}

// List scheduling: calls task(i, n_idle) for every node of an acyclic graph, before its successors after[i], of the ready
// ones the heaviest first. n_idle: threads without a task at that moment, which this one may use.
template <class Graph, class Task>
void run_graph(const Graph& after, View<const double> weight, Index n_threads, const Task& task) {
  const Index n = weight.size();
  std::vector<Index> n_before(n);
  std::priority_queue<std::pair<double, Index>> ready;
  for (Index i = 0; i < n; ++i)
    for (const Index j : after[i]) ++n_before[j];
  for (Index i = 0; i < n; ++i)
    if (n_before[i] == 0) ready.emplace(weight[i], i);
  Index n_running = 0;
  std::mutex mutex;
  std::condition_variable changed;
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return !ready.empty() || n_running == 0; });
      if (ready.empty()) return;
      const Index i = ready.top().second;
      ready.pop();
      const Index n_busy = ++n_running + Index(ready.size());
      lock.unlock();
      task(i, std::max<Index>(n_threads - n_busy, 0));
      lock.lock();
      --n_running;
      for (const Index j : after[i])
        if (--n_before[j] == 0) ready.emplace(weight[j], j);
      changed.notify_all();
    }
  };
  std::vector<std::jthread> others;
  for (Index k = 1; k < std::min(n, n_threads); ++k) others.emplace_back(work);
  work();
}

// Calls first(i, n_ahead) and then second(i) for i = 0, ..., n - 1. With two threads, first(i) runs on one of them, up to `lead`
// calls ahead of second, now n_ahead, so that what it hands over is still in the caches. Neither may throw.
template <class First, class Second>
void run_pipeline(Index n, Index n_threads, Index lead, const First& first, const Second& second) {
  if (n_threads < 2) {
    for (Index i = 0; i < n; ++i) first(i, 0), second(i);
    return;
  }
  struct alignas(256) Counter {  // in lines of their own: processors fetch neighbouring ones, too
    std::atomic<Index> calls = 0;
    void wait_for(Index least) const {
      constexpr int spins = 1 << 12;  // some microseconds; then the other thread may need this core
      for (int spin = 0; calls.load(std::memory_order_acquire) < least; ++spin)
        if (spin >= spins) std::this_thread::yield();
    }
    void count(Index i) { calls.store(i + 1, std::memory_order_release); }
  } firsts, seconds;
  const std::jthread other([&] {
    for (Index i = 0; i < n; ++i) {
      seconds.wait_for(i - lead);
      first(i, i - seconds.calls.load(std::memory_order_relaxed));
      firsts.count(i);
    }
  });
  for (Index i = 0; i < n; ++i) firsts.wait_for(i + 1), second(i), seconds.count(i);
}

// Calls task(first, last) for ranges of [0, n) of bodies or joints.
template <class Task>
void run_ranges(Index n, Index n_threads, const Task& task) {
  constexpr Index length = 1 << 12;
  run_tasks((n + length - 1) / length, n_threads,
            [&](Index i) { task(i * length, std::min(n, (i + 1) * length)); });
}

// Calls body(i) for every i in [0, n), range by range.
template <class Body>
void for_each(Index n, Index n_threads, const Body& body) {
  run_ranges(n, n_threads, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) body(i);
  });
}

}  // namespace sparsebody
