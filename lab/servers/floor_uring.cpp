// The floor on io_uring: what floor.cpp does, with the same flags, as cheaply as io_uring can. One multishot accept,
// one multishot receive per connection, receive buffers that the kernel takes from a ring, sockets in the ring's own
// table (no look-up of descriptors), and sends that say nothing when they succeed. Linux 6.1 or newer.
//
//   floor_uring [flags of floor]
//   floor_uring --probe           whether this kernel lets it run: exit code 0, or one line that says why not
//
// SIGTERM and SIGINT end it with exit code 0.

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include <liburing.h>

#include "floor.hpp"

namespace {

using namespace leantea::lab::floor_server;

constexpr unsigned kSubmissions = 256;
constexpr unsigned kCompletions = 4096;
constexpr unsigned short kBufferGroup = 0;
constexpr unsigned kMostSockets = 65536;

/// Receive buffers: as many as receives may come in one turn, each large enough for most requests.
struct Buffers {
  unsigned bytes;
  unsigned count;  // a power of two
};
constexpr Buffers kSmallBuffers{.bytes = 4 * 1024, .count = 256};
constexpr Buffers kLargeBuffers{.bytes = 64 * 1024, .count = 64};

enum class Operation : std::uint64_t { kAccept, kReceive, kSend, kClose, kSignal };

std::uint64_t tag(Operation operation, unsigned slot) {
  return static_cast<std::uint64_t>(operation) << 32U | slot;
}

/// A connection; its number is its place in the ring's table of sockets.
struct Slot : Connection {
  std::array<iovec, 2> parts{};
  msghdr message{};
  bool sending = false;  // --body: a send is under way, and what it sends may not be touched
  std::string waiting;   // --body: what came meanwhile
  bool finished =
      false;  // the peer has closed, or must be let go: to be closed when nothing is under way
};

/// Sets up `ring`. Zero, or the error.
int open_ring(io_uring& ring) {
  io_uring_params parameters{};
  // The kernel does its part inside the wait, on this thread, without interrupting it.
  parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                     IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
  parameters.cq_entries = kCompletions;
  return -io_uring_queue_init_params(kSubmissions, &ring, &parameters);
}

int probe() {
  io_uring ring{};
  const int error = open_ring(ring);
  if (error == 0) {
    io_uring_queue_exit(&ring);
    return 0;
  }
  std::fprintf(stderr, "%s (it takes Linux 6.1 or newer, and that io_uring is allowed here)\n",
               std::strerror(error));
  return 1;
}

class Floor {
 public:
  explicit Floor(const Settings& settings)
      : settings_(settings),
        sizes_(settings.body ? kLargeBuffers : kSmallBuffers),
        answer_(whole_answer(settings)) {
    for (std::size_t i = 0; i < kAnswersPerBlock; ++i) block_ += answer_;
    if (settings.body) filler_.assign(kFillerBytes, 'x');
  }

  void listen() {
    if (const int error = open_ring(ring_); error != 0) fail("io_uring", error);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);  // the table may not be larger
    const auto sockets = static_cast<unsigned>(std::min<rlim_t>(limit.rlim_cur, kMostSockets));
    if (const int error = io_uring_register_files_sparse(&ring_, sockets); error != 0)
      fail("table of sockets", -error);
    slots_ = std::vector<Slot>(sockets);
    io_uring_register_ring_fd(&ring_);  // saves a look-up per call; all works without it
    add_buffers();
    listener_ = listen_on(settings_.port);
    accept();
    io_uring_sqe& sqe = next();
    io_uring_prep_poll_add(&sqe, signals_, POLLIN);
    sqe.user_data = tag(Operation::kSignal, 0);
  }

  void run() {
    while (!ended_) {
      if (const int result = io_uring_submit_and_wait(&ring_, 1); result < 0 && result != -EINTR)
        fail("io_uring_enter", -result);
      unsigned head = 0;
      unsigned seen = 0;
      io_uring_cqe* event = nullptr;
      io_uring_for_each_cqe(&ring_, head, event) {
        take(*event);
        ++seen;
      }
      io_uring_cq_advance(&ring_, seen);
      io_uring_buf_ring_advance(buffer_ring_, returned_);
      returned_ = 0;
      for (const unsigned slot : starved_) receive(slot);
      starved_.clear();
    }
  }

 private:
  void add_buffers() {
    const auto pages = [](std::size_t bytes) {
      constexpr std::size_t kPage = 4096;
      void* memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
      if (memory == nullptr) fail("buffers");
      return memory;
    };
    memory_ = static_cast<char*>(pages(std::size_t{sizes_.bytes} * sizes_.count));
    buffer_ring_ = static_cast<io_uring_buf_ring*>(pages(sizes_.count * sizeof(io_uring_buf)));
    io_uring_buf_reg request{};
    request.ring_addr = reinterpret_cast<std::uintptr_t>(buffer_ring_);
    request.ring_entries = sizes_.count;
    request.bgid = kBufferGroup;
    if (const int error = io_uring_register_buf_ring(&ring_, &request, 0); error != 0)
      fail("ring of buffers", -error);
    io_uring_buf_ring_init(buffer_ring_);
    for (unsigned i = 0; i < sizes_.count; ++i) give_back(i);
    io_uring_buf_ring_advance(buffer_ring_, returned_);
    returned_ = 0;
  }

  char* buffer(unsigned index) const { return memory_ + std::size_t{sizes_.bytes} * index; }

  /// Puts a buffer behind those that are given back in this turn.
  void give_back(unsigned index) {
    io_uring_buf_ring_add(buffer_ring_, buffer(index), sizes_.bytes,
                          static_cast<unsigned short>(index), io_uring_buf_ring_mask(sizes_.count),
                          returned_++);
  }

  io_uring_sqe& next() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    while (sqe == nullptr) {
      io_uring_submit(&ring_);
      sqe = io_uring_get_sqe(&ring_);
    }
    return *sqe;
  }

  void accept() {
    io_uring_sqe& sqe = next();
    io_uring_prep_multishot_accept_direct(&sqe, listener_, nullptr, nullptr, 0);
    sqe.user_data = tag(Operation::kAccept, 0);
  }

  /// Where a connection ends after its answer one receive is enough, and none is left that would hold it open.
  void receive(unsigned slot) {
    io_uring_sqe& sqe = next();
    if (settings_.close) {
      io_uring_prep_recv(&sqe, static_cast<int>(slot), nullptr, 0, 0);
    } else {
      io_uring_prep_recv_multishot(&sqe, static_cast<int>(slot), nullptr, 0, 0);
    }
    sqe.flags |= IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
    sqe.buf_group = kBufferGroup;
    sqe.user_data = tag(Operation::kReceive, slot);
  }

  void close(unsigned slot) {
    io_uring_sqe& sqe = next();
    io_uring_prep_close_direct(&sqe, slot);
    sqe.flags |= IOSQE_CQE_SKIP_SUCCESS;
    sqe.user_data = tag(Operation::kClose, slot);
  }

  void take(const io_uring_cqe& event) {
    const auto slot = static_cast<unsigned>(event.user_data & 0xFFFFFFFFU);
    switch (static_cast<Operation>(event.user_data >> 32U)) {
      case Operation::kAccept:
        if (event.res >= 0) {
          slots_[static_cast<std::size_t>(event.res)] = Slot{};
          receive(static_cast<unsigned>(event.res));
        }
        if ((event.flags & IORING_CQE_F_MORE) == 0) accept();
        return;
      case Operation::kReceive:
        took(slot, event);
        return;
      case Operation::kSend:
        sent(slot, event.res);
        return;
      case Operation::kClose:
        return;
      case Operation::kSignal:
        ended_ = true;
        return;
    }
  }

  void took(unsigned slot, const io_uring_cqe& event) {
    const bool goes_on = (event.flags & IORING_CQE_F_MORE) != 0;
    if (event.res > 0) {
      const unsigned index = event.flags >> IORING_CQE_BUFFER_SHIFT;
      serve(slot, {buffer(index), static_cast<std::size_t>(event.res)});
      give_back(index);
      if (goes_on || slots_[slot].finished) return;
      receive(slot);
    } else if (event.res == -ENOBUFS) {
      starved_.push_back(slot);  // they are given back at the end of the turn
    } else if (!goes_on) {
      slots_[slot].finished = true;
      if (!slots_[slot].sending) close(slot);
    }
  }

  void serve(unsigned slot, std::string_view bytes) {
    Slot& connection = slots_[slot];
    if (settings_.body) {
      if (connection.sending) {
        connection.waiting += bytes;
      } else {
        echo(slot, bytes);
      }
      return;
    }
    std::size_t heads = count_heads(bytes);
    if (settings_.pipeline_aware) heads += count_heads_across(connection.before, bytes);
    for (; heads > 0; heads -= std::min(heads, kAnswersPerBlock)) {
      send_block(slot, std::min(heads, kAnswersPerBlock) * answer_.size());
      if (!settings_.close) continue;
      connection.finished = true;
      close(slot);  // linked to the send
      return;
    }
  }

  void echo(unsigned slot, std::string_view bytes) {
    if (!receive_echo(slots_[slot], bytes, settings_)) {
      shut(slot);
    } else if (owes(slots_[slot])) {
      send_echo(slot);
    }
  }

  /// All of it or none: the kernel goes on by itself where a socket is full for a while, and says when it could not.
  void send_block(unsigned slot, std::size_t size) {
    io_uring_sqe& sqe = next();
    io_uring_prep_send(&sqe, static_cast<int>(slot), block_.data(), size,
                       MSG_NOSIGNAL | MSG_WAITALL);
    sqe.flags |= IOSQE_FIXED_FILE | IOSQE_CQE_SKIP_SUCCESS;
    if (settings_.close) sqe.flags |= IOSQE_IO_HARDLINK;  // the close follows, whatever came of it
    sqe.user_data = tag(Operation::kSend, slot);
  }

  void send_echo(unsigned slot) {
    Slot& connection = slots_[slot];
    connection.parts = next_of_echo(connection, filler_);
    connection.message = {};
    connection.message.msg_iov = connection.parts.data();
    connection.message.msg_iovlen = connection.parts.size();
    connection.sending = true;
    io_uring_sqe& sqe = next();
    io_uring_prep_sendmsg(&sqe, static_cast<int>(slot), &connection.message, MSG_NOSIGNAL);
    sqe.flags |= IOSQE_FIXED_FILE;
    sqe.user_data = tag(Operation::kSend, slot);
  }

  /// A send of --body has ended, or another one has failed.
  void sent(unsigned slot, int result) {
    Slot& connection = slots_[slot];
    if (!settings_.body) {
      if (!settings_.close) shut(slot);
      return;
    }
    connection.sending = false;
    if (connection.finished) {
      close(slot);
    } else if (result < 0) {
      shut(slot);
    } else {
      sent_of_echo(connection, static_cast<std::size_t>(result));
      if (owes(connection)) {
        send_echo(slot);
      } else if (!connection.waiting.empty()) {
        echo(slot, std::exchange(connection.waiting, {}));
      }
    }
  }

  /// Ends the connection; its receive then ends too, and closes it.
  void shut(unsigned slot) {
    io_uring_sqe& sqe = next();
    io_uring_prep_shutdown(&sqe, static_cast<int>(slot), SHUT_RDWR);
    sqe.flags |= IOSQE_FIXED_FILE | IOSQE_CQE_SKIP_SUCCESS;
    sqe.user_data = tag(Operation::kClose, slot);
  }

  const Settings settings_;
  const Buffers sizes_;
  const std::string answer_;
  std::string block_;
  std::vector<char> filler_;
  io_uring ring_{};
  io_uring_buf_ring* buffer_ring_ = nullptr;  // these two live as long as the process
  char* memory_ = nullptr;
  int returned_ = 0;  // buffers given back in this turn, as liburing counts them
  std::vector<unsigned> starved_;
  std::vector<Slot> slots_;
  int listener_ = -1;
  const int signals_ = end_signals();
  bool ended_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--probe") return probe();
  Floor floor(settings_from(argc, argv));
  floor.listen();
  floor.run();
  return 0;
}
