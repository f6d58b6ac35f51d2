// kqueue() and kevent() on top of poll(), as far as the kqueue poller needs them, so that the reactor can run
// with it on Linux (see CMakeLists.txt). It is slow and simple: what it is for is the
// poller's use of filters, not speed.
//
// What it keeps of the real one: a filter per descriptor and direction; level-triggered reads and writes; an
// end of the stream told by the read filter whatever the low-water mark; filters that go away with their
// descriptor; EVFILT_USER with EV_CLEAR. Any thread may trigger EVFILT_USER, the rest is the loop's thread.
#include <poll.h>
#include <sys/event.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace {

/// One descriptor with one filter.
using Key = std::pair<int, short>;

struct Filter {
  struct kevent change;
  ino_t inode;  ///< of the descriptor it was made for: a number may be used again
};

struct Queue {
  std::mutex mutex;
  // Guarded by mutex.
  std::map<Key, Filter> filters;
  bool triggered = false;
  void* user_data = nullptr;
};

std::mutex queues_mutex;
std::map<int, std::unique_ptr<Queue>> queues;  // guarded by queues_mutex; by eventfd

Queue& queue_of(int kq) {
  const std::lock_guard lock(queues_mutex);
  return *queues.at(kq);
}

ino_t inode_of(int fd) {
  struct stat file{};
  return fstat(fd, &file) == 0 ? file.st_ino : 0;
}

bool is_for_end_only(const Filter& filter) {
  return (filter.change.fflags & NOTE_LOWAT) != 0 && filter.change.data == INT_MAX;
}

/// Zero, or the errno value.
int apply(int kq, Queue& queue, const struct kevent& change) {
  if (change.filter == EVFILT_USER) {
    if ((change.flags & EV_ADD) != 0) queue.user_data = change.udata;
    if ((change.fflags & NOTE_TRIGGER) != 0) {
      queue.triggered = true;
      eventfd_write(kq, 1);
    }
    return 0;
  }
  const int fd = static_cast<int>(change.ident);
  const Key key{fd, change.filter};
  if ((change.flags & EV_DELETE) != 0) return queue.filters.erase(key) == 1 ? 0 : ENOENT;
  const ino_t inode = inode_of(fd);
  if (inode == 0) return EBADF;
  queue.filters[key] = {.change = change, .inode = inode};
  return 0;
}

/// A filter goes away with its descriptor.
void drop_closed(Queue& queue) {
  std::erase_if(queue.filters,
                [](const auto& each) { return inode_of(each.first.first) != each.second.inode; });
}

/// What poll() is to wait for in the place of a filter of this kind.
short polled_for(short kind, const Filter& filter) {
  if (kind == EVFILT_WRITE) return is_for_end_only(filter) ? short{0} : short{POLLOUT};
  return is_for_end_only(filter) ? short{POLLRDHUP} : short{POLLIN | POLLRDHUP};
}

std::vector<pollfd> to_poll(int kq, const Queue& queue) {
  std::vector<pollfd> list{{.fd = kq, .events = POLLIN, .revents = 0}};
  for (const auto& [key, filter] : queue.filters) {
    list.push_back({.fd = key.first, .events = polled_for(key.second, filter), .revents = 0});
  }
  return list;
}

/// What the real one would say of this filter, if anything.
bool report(const Filter& filter, short ready, struct kevent& event) {
  if (ready == 0) return false;
  event = filter.change;
  event.flags = 0;
  event.fflags = (ready & POLLERR) != 0 ? ECONNRESET : 0;
  const bool read = filter.change.filter == EVFILT_READ;
  const int end = POLLHUP | POLLERR | (read ? POLLRDHUP : 0);
  if ((ready & end) != 0) event.flags |= EV_EOF;
  return true;
}

}  // namespace

extern "C" int kqueue(void) {
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return -1;
  const std::lock_guard lock(queues_mutex);
  queues[fd] = std::make_unique<Queue>();
  return fd;
}

extern "C" int kevent(int kq, const struct kevent* changes, int change_count, struct kevent* events,
                      int event_count, const struct timespec* timeout) {
  Queue& queue = queue_of(kq);
  std::unique_lock lock(queue.mutex);
  drop_closed(queue);
  for (int i = 0; i < change_count; ++i) {
    if (const int code = apply(kq, queue, changes[i]); code != 0) {
      errno = code;
      return -1;
    }
  }
  if (event_count == 0) return 0;

  std::vector<pollfd> list = to_poll(kq, queue);
  lock.unlock();
  const int wait = timeout == nullptr
                       ? -1
                       : static_cast<int>(timeout->tv_sec * 1000 + timeout->tv_nsec / 1'000'000);
  if (::poll(list.data(), list.size(), wait) < 0) return -1;
  lock.lock();

  int count = 0;
  if (std::exchange(queue.triggered, false)) {
    eventfd_t value = 0;
    eventfd_read(kq, &value);
    EV_SET(&events[count], 0, EVFILT_USER, 0, 0, 0, queue.user_data);
    ++count;
  }
  // In the order of to_poll(): nobody else changes the filters.
  std::size_t at = 1;
  for (const auto& [key, filter] : queue.filters) {
    if (count == event_count) break;
    if (report(filter, list[at++].revents, events[count])) ++count;
  }
  return count;
}
