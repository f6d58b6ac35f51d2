#include "net/libuv/poller_libuv.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <utility>

#include "base/assert.hpp"

namespace leantea::net::readiness {
namespace {

std::unexpected<std::string> problem(std::string_view what, int code) {
  return std::unexpected("cannot make " + std::string(what) + ": " + uv_strerror(code));
}

template <class Handle>
uv_handle_t* as_handle(Handle& handle) noexcept {
  return reinterpret_cast<uv_handle_t*>(&handle);  // libuv's own way
}

LibuvPoller& poller_of(const uv_loop_t* loop) noexcept {
  return *static_cast<LibuvPoller*>(loop->data);
}

int bits_of(Interest interest) noexcept {
  const int bits = (has(interest, Interest::kRead) ? UV_READABLE : 0) |
                   (has(interest, Interest::kWrite) ? UV_WRITABLE : 0) |
                   (has(interest, Interest::kEnd) ? UV_DISCONNECT : 0);
  return bits != 0 ? bits : UV_PRIORITIZED;
}

bool is_broken(const uv_poll_t& handle) noexcept {
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<const uv_handle_t*>(&handle), &fd) != 0) return true;
  pollfd asked{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&asked, 1, 0) == 1;  // errors and hang-ups are always told
}

/// libuv aborts where a loop's epoll instance is the last descriptor there is, or the last but one: with its first
/// loop it makes a pipe for signals, which it cannot do without.
bool can_open_what_libuv_must() noexcept {
  std::array<int, 3> opened{};
  bool all = true;
  for (int& fd : opened) {
    fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    all = all && fd >= 0;
  }
  for (const int fd : opened)
    if (fd >= 0) ::close(fd);
  return all;
}

}  // namespace

/// A descriptor that is watched. Lives until libuv has forgotten its handle.
struct LibuvPoller::Watch {
  static constexpr std::size_t kNoPlace = SIZE_MAX;

  uv_poll_t poll{};
  void* tag = nullptr;
  int bits = 0;                  ///< what is asked for
  std::size_t place = kNoPlace;  ///< of its event in noted_
};

LibuvPoller::~LibuvPoller() {
  if (!opened_) return;
  for (std::size_t fd = 0; fd < watches_.size(); ++fd) remove(static_cast<int>(fd));
  uv_close(as_handle(timer_), nullptr);
  uv_close(as_handle(wake_), nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);  // until all close callbacks have been called
  const int code = uv_loop_close(&loop_);
  LEANTEA_ASSERT(code == 0);
}

std::expected<void, std::string> LibuvPoller::open() {
  if (!can_open_what_libuv_must()) return problem("a libuv loop", UV_EMFILE);
  if (const int code = uv_loop_init(&loop_); code != 0) return problem("a libuv loop", code);
  loop_.data = this;
  uv_timer_init(&loop_, &timer_);  // cannot fail
  if (const int code = uv_async_init(&loop_, &wake_, &LibuvPoller::on_wake); code != 0) {
    uv_close(as_handle(timer_), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
    return problem("a libuv wake-up", code);
  }
  opened_ = true;
  noted_.reserve(kBatch);
  return {};
}

int LibuvPoller::add(int fd, Interest interest, void* tag) noexcept {
  LEANTEA_ASSERT(tag != nullptr);
  const auto index = static_cast<std::size_t>(fd);
  try {
    if (watches_.size() <= index) watches_.resize(index + 1);
    if (noted_.capacity() <= watches_.size()) noted_.reserve(2 * watches_.size());
    LEANTEA_ASSERT(watches_[index] == nullptr);
    watches_[index] = new Watch;
  } catch (const std::bad_alloc&) {
    return -UV_ENOMEM;
  }
  Watch& watch = *watches_[index];
  watch.tag = tag;
  int code = uv_poll_init(&loop_, &watch.poll, fd);
  if (code != 0) {
    delete std::exchange(watches_[index], nullptr);
    return -code;
  }
  watch.poll.data = &watch;
  code = start(watch, bits_of(interest));
  if (code != 0) remove(fd);
  return code;
}

int LibuvPoller::add_listener(int fd, bool /*shared*/, void* tag) noexcept {
  return add(fd, Interest::kRead, tag);
}

int LibuvPoller::change(int fd, Interest /*from*/, Interest to, void* /*tag*/) noexcept {
  return start(*watches_[static_cast<std::size_t>(fd)], bits_of(to));
}

void LibuvPoller::remove(int fd) noexcept {
  Watch* const watch = std::exchange(watches_[static_cast<std::size_t>(fd)], nullptr);
  if (watch == nullptr) return;
  if (watch->place != Watch::kNoPlace) noted_[watch->place] = Event{};
  uv_close(as_handle(watch->poll),
           [](uv_handle_t* handle) { delete static_cast<Watch*>(handle->data); });
}

/// Zero, or the errno value.
int LibuvPoller::start(Watch& watch, int bits) noexcept {
  watch.bits = bits;
  return -uv_poll_start(&watch.poll, bits, &LibuvPoller::on_ready);
}

int LibuvPoller::wait(int timeout_ms) noexcept {
  first_ = next_;
  if (first_ == noted_.size()) {
    for (const Event& event : noted_) {
      if (event.watch != nullptr) event.watch->place = Watch::kNoPlace;
    }
    noted_.clear();
    wake_noted_ = false;
    first_ = 0;
    set_timer(timeout_ms);
    uv_run(&loop_, timeout_ms == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
  }
  next_ = std::min(first_ + kBatch, noted_.size());
  return static_cast<int>(next_ - first_);
}

/// Lets the next run end in time. A timer that is set to an earlier time is left: what it ends is only one
/// wait too many, and a request moves no timer.
void LibuvPoller::set_timer(int timeout_ms) noexcept {
  if (timeout_ms <= 0) return;
  const auto timeout = static_cast<std::uint64_t>(timeout_ms);
  const std::uint64_t due = uv_now(&loop_) + timeout;
  if (due >= timer_due_) return;
  timer_due_ = due;
  uv_timer_start(&timer_, &LibuvPoller::on_time, timeout, 0);
}

void LibuvPoller::wake() noexcept {
  if (opened_) uv_async_send(&wake_);
}

// ---- libuv calls ----

void LibuvPoller::on_ready(uv_poll_t* handle, int status, int bits) {
  LibuvPoller& poller = poller_of(handle->loop);
  Watch& watch = *static_cast<Watch*>(handle->data);
  if (status < 0) {
    // libuv has stopped watching. Who reads, or accepts, is told what it is.
    bits = UV_PRIORITIZED;
    poller.start(watch, watch.bits);
  } else if ((bits & UV_PRIORITIZED) != 0 && !is_broken(*handle)) {
    bits &= ~UV_PRIORITIZED;  // urgent data, which is nothing to us
    if (bits == 0) return;
  }
  poller.note(watch, bits);
}

/// One event for each watch: libuv may look twice before it returns.
void LibuvPoller::note(Watch& watch, int bits) noexcept {
  if (watch.place == Watch::kNoPlace) {
    watch.place = noted_.size();
    noted_.push_back({.tag = watch.tag, .watch = &watch});
  }
  noted_[watch.place].bits |= bits;
}

void LibuvPoller::on_wake(uv_async_t* handle) {
  LibuvPoller& poller = poller_of(handle->loop);
  if (!std::exchange(poller.wake_noted_, true)) poller.noted_.push_back({});
}

/// uv_run() looks at its timers before it waits, too, and when the machine is busy this one is over by then.
/// Left to itself libuv would now wait for ever.
void LibuvPoller::on_time(uv_timer_t* handle) {
  poller_of(handle->loop).timer_due_ = kNever;
  uv_stop(handle->loop);
}

}  // namespace leantea::net::readiness
