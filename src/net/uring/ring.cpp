#include "net/uring/ring.hpp"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "base/assert.hpp"

namespace leantea::net::uring {
namespace {

/// What wait() may return besides success; all else is a mistake of ours (EBADF, EFAULT, EINVAL).
bool is_passing(int result) noexcept {
  return result == -ETIME || result == -EINTR || result == -EAGAIN || result == -EBUSY ||
         result == -ENOMEM;
}

constexpr long long kMillisPerSecond = 1'000;
constexpr long long kNanosPerMilli = 1'000'000;

}  // namespace

void Ring::close() noexcept {
  if (std::exchange(opened_, false)) io_uring_queue_exit(&ring_);
}

std::string Ring::setup_problem(int code) {
  switch (code) {
    case ENOSYS:
      return "this kernel has no io_uring";
    case EPERM:
    case EACCES:
      return "io_uring is forbidden to this process (a seccomp profile, or sysctl "
             "kernel.io_uring_disabled)";
    case EINVAL:
      return "this kernel's io_uring is too old: it takes Linux 6.1 or newer";
    case ENOMEM:
      return "no memory for io_uring (ulimit -l)";
    default:
      return "cannot make an io_uring: " + error_text(code);
  }
}

/// On a thread of its own: see the note on threads in uring/loop.hpp.
std::expected<void, std::string> Ring::available() {
  std::expected<void, std::string> result;
  try {
    std::thread([&result] { result = try_out(); }).join();
  } catch (const std::system_error& error) {
    return std::unexpected(std::string("cannot start a thread: ") + error.what());
  }
  return result;
}

std::expected<void, std::string> Ring::try_out() {
  Ring ring;
  if (auto opened = ring.open_waker(); !opened) return opened;
  if (auto opened = ring.open(RingSizes{}); !opened) return opened;
  constexpr std::uint32_t kFeatures = IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE |
                                      IORING_FEAT_FAST_POLL | IORING_FEAT_EXT_ARG |
                                      IORING_FEAT_CQE_SKIP;
  if ((ring.ring_.features & kFeatures) != kFeatures) return std::unexpected(setup_problem(EINVAL));
  const std::unique_ptr<struct io_uring_probe, decltype(&io_uring_free_probe)> probe(
      io_uring_get_probe_ring(&ring.ring_), &io_uring_free_probe);
  constexpr int kOperations[] = {IORING_OP_ACCEPT,  IORING_OP_RECV,     IORING_OP_SEND,
                                 IORING_OP_SENDMSG, IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL};
  const bool all = probe && std::ranges::all_of(kOperations, [&](int operation) {
                     return io_uring_opcode_supported(probe.get(), operation) != 0;
                   });
  if (!all) return std::unexpected(setup_problem(EINVAL));
  return {};
}

std::expected<void, std::string> Ring::open_waker() {
  wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return std::unexpected("cannot make an eventfd: " + error_text(errno));
  return {};
}

/// SINGLE_ISSUER and DEFER_TASKRUN: the kernel does its part for this ring only inside wait(), on the loop's
/// own thread, without interrupting it and without locks. SUBMIT_ALL: an operation that fails does not hold up
/// those behind it.
std::expected<void, std::string> Ring::open(const RingSizes& sizes) {
  struct io_uring_params parameters = {};
  parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                     IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
  parameters.cq_entries = sizes.completions;
  if (const int result = io_uring_queue_init_params(sizes.submissions, &ring_, &parameters);
      result != 0) {
    return std::unexpected(setup_problem(-result));
  }
  opened_ = true;
  if (auto made = buffers_.open(ring_, sizes); !made) {
    close();  // here: it is the thread that made it
    return made;
  }
  // Saves the kernel a look-up of the ring per call. Without it everything works as well.
  io_uring_register_ring_fd(&ring_);
  watch_wake();
  return {};
}

// ---- Operations ----

void Ring::accept(int listener, Tag tag) noexcept {
  struct io_uring_sqe& sqe = next();
  io_uring_prep_multishot_accept(&sqe, listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  sqe.user_data = tag.bits();
}

void Ring::receive(int fd, Tag tag) noexcept {
  struct io_uring_sqe& sqe = next();
  io_uring_prep_recv_multishot(&sqe, fd, nullptr, 0, 0);
  sqe.flags = IOSQE_BUFFER_SELECT;
  sqe.buf_group = BufferRing::kGroup;
  sqe.user_data = tag.bits();
}

void Ring::send(int fd, std::span<const struct iovec> pieces, Tag tag, bool last) noexcept {
  LEANTEA_ASSERT(!pieces.empty() && pieces.size() <= kMaxPieces);
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (io_uring_sq_space_left(&ring_) == 0) flush();  // before a message is taken, not after it
  struct msghdr* const header = pieces.size() > 1 ? &message(pieces) : nullptr;
  struct io_uring_sqe& sqe = next();
  if (header != nullptr) {
    io_uring_prep_sendmsg(&sqe, fd, header, kFlags);
  } else {
    io_uring_prep_send(&sqe, fd, pieces[0].iov_base, pieces[0].iov_len, kFlags);
  }
  sqe.user_data = tag.bits();
  last_sends_ += last ? 1 : 0;
}

void Ring::watch_room(int fd, Tag tag) noexcept {
  struct io_uring_sqe& sqe = next();
  io_uring_prep_poll_add(&sqe, fd, POLLOUT);
  sqe.user_data = tag.bits();
}

void Ring::watch_end(int fd, Tag tag) noexcept {
  struct io_uring_sqe& sqe = next();
  io_uring_prep_poll_add(&sqe, fd, POLLRDHUP);
  sqe.user_data = tag.bits();
}

/// A poll of the ring tells the FIN also where it was not asked for, so one poll for one event would end at once,
/// again and again. This one goes on and is edge-triggered: it tells the FIN once more, then what changes.
void Ring::watch_break(int fd, Tag tag) noexcept {
  struct io_uring_sqe& sqe = next();
  io_uring_prep_poll_multishot(&sqe, fd, POLLRDHUP);
  sqe.user_data = tag.bits();
}

/// Edge-triggered: each write is told once, so nobody has to read the counter back to zero.
void Ring::watch_wake() noexcept {
  struct io_uring_sqe& sqe = next();
  io_uring_prep_poll_multishot(&sqe, wake_.get(), POLLIN);
  sqe.user_data = Tag(nullptr, Operation::kWake).bits();
}

void Ring::cancel(Tag tag) noexcept {
  struct io_uring_sqe& sqe = next();
  io_uring_prep_cancel64(&sqe, tag.bits(), 0);
  sqe.flags = IOSQE_CQE_SKIP_SUCCESS;  // and a failure is told as one of kNone: it ended by itself
  sqe.user_data = Tag().bits();
}

struct io_uring_sqe& Ring::next() noexcept {
  struct io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) {
    flush();
    sqe = io_uring_get_sqe(&ring_);
  }
  return *sqe;
}

/// `pieces` in a message that stays until they are handed over.
struct msghdr& Ring::message(std::span<const struct iovec> pieces) noexcept {
  if (!messages_) messages_ = std::make_unique_for_overwrite<std::array<Message, kMessages>>();
  if (messages_used_ == kMessages) flush();
  Message& message = (*messages_)[messages_used_++];
  std::ranges::copy(pieces, message.pieces.begin());
  message.header = {};
  message.header.msg_iov = message.pieces.data();
  message.header.msg_iovlen = pieces.size();
  return message.header;
}

// ---- Turns ----

void Ring::flush() noexcept {
  // Not all at once only when the kernel has no memory for an operation just now; it will have.
  while (io_uring_sq_ready(&ring_) != 0) {
    const int result = io_uring_submit(&ring_);
    LEANTEA_ASSERT(result >= 0 || is_passing(result));
  }
  messages_used_ = 0;
}

/// A send is complete as soon as it is handed over: to wait for one completion would mean not to wait, but to have a
/// turn for the sends of the last one and then another for what comes. So last sends are not counted. With one
/// connection a request is one system call instead of two, and 0.89 times the floor's CPU instead of 1.00
/// (docs/experiments-uring.md).
unsigned Ring::wait(int timeout_ms) noexcept {
  io_uring_cq_advance(&ring_, taken_);
  int result = 0;
  if (timeout_ms == 0) {
    result = io_uring_submit_and_get_events(&ring_);
  } else {
    if (last_sends_ > 0) timeout_ms = timeout_ms < 0 ? kLateMs : std::min(timeout_ms, kLateMs);
    struct __kernel_timespec time = {.tv_sec = timeout_ms / kMillisPerSecond,
                                     .tv_nsec = timeout_ms % kMillisPerSecond * kNanosPerMilli};
    struct io_uring_cqe* first = nullptr;
    result = io_uring_submit_and_wait_timeout(&ring_, &first, last_sends_ + 1,
                                              timeout_ms < 0 ? nullptr : &time, nullptr);
  }
  last_sends_ = 0;
  LEANTEA_ASSERT(result >= 0 || is_passing(result));
  flush();  // nothing is left, but for what flush() says
  taken_ = std::min(io_uring_cq_ready(&ring_), kBatch);
  return taken_;
}

void Ring::wake() noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the loop has been woken 2^64 times.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

}  // namespace leantea::net::uring
