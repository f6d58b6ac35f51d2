// Ring: the loop's side of the kernel's io_uring: operations go in, completions come out, with one system
// call per turn.
//
// One thread, the loop's, but for open_waker(), which comes first, wake() and the static functions.
// Completions are valid until the next wait(). Nothing that is asked for happens before the next wait()
// or flush(), and then:
//  1. a send has read its bytes, and its result is among the completions of that wait(): it never waits
//     for room inside the kernel (MSG_DONTWAIT), so nobody need keep bytes for it any longer;
//  2. everything else stays under way until a completion without more() says that it has ended.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <liburing.h>

#include "net/listener.hpp"
#include "net/socket.hpp"
#include "net/uring/buffer_ring.hpp"
#include "net/uring/operation.hpp"
#include "net/uring/ring_sizes.hpp"

namespace leantea::net::uring {

class Ring {
 public:
  using Event = struct io_uring_cqe;

  Ring() noexcept = default;
  ~Ring() { close(); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Whether this kernel lets this process have such a ring, and has what it needs. Leaves nothing behind in
  /// the calling thread.
  static std::expected<void, std::string> available();
  /// What a failed io_uring_setup(2) means for the user.
  static std::string setup_problem(int code);

  /// Makes what wake() needs.
  std::expected<void, std::string> open_waker();
  /// Makes the ring. REQUIRES: open_waker() has succeeded.
  std::expected<void, std::string> open(const RingSizes& sizes);
  /// Ends the ring. REQUIRES: nothing is under way, but for what watch_wake() started.
  void close() noexcept;

  /// Starts accepting. A listener that other loops have, too, wakes one of them.
  void accept(int listener, Tag tag) noexcept;
  /// Starts receiving into the shared buffers: many completions, see bytes().
  void receive(int fd, Tag tag) noexcept;
  /// Sends what the kernel has room for now. The bytes stay where they are until the next wait() or
  /// flush(). `last`: when all of it is taken there is nothing to do, so that the completion may come late.
  /// REQUIRES: 1 to kMaxPieces pieces.
  void send(int fd, std::span<const struct iovec> pieces, Tag tag, bool last) noexcept;
  /// Waits for room to send, or for the end of the connection.
  void watch_room(int fd, Tag tag) noexcept;
  /// Waits for the peer's FIN, or for the end of the connection.
  void watch_end(int fd, Tag tag) noexcept;
  /// Waits, behind the peer's FIN, for the end of the connection. Goes on until it is cancelled.
  void watch_break(int fd, Tag tag) noexcept;
  /// Starts listening for wake(). open() does; again after a completion of kWake without more().
  void watch_wake() noexcept;
  /// Ends the operation with this tag early. It still has its last completion.
  void cancel(Tag tag) noexcept;

  /// Hands over what was asked for, without waiting.
  void flush() noexcept;
  /// Hands over what was asked for and waits for completions, at most `timeout_ms` (-1: for ever); how
  /// many there are. Those of last sends alone are waited with for kLateMs.
  unsigned wait(int timeout_ms) noexcept;
  /// Completion `index` of the last wait().
  const Event& event(unsigned index) const noexcept {
    return ring_.cq.cqes[(*ring_.cq.khead + index) & ring_.cq.ring_mask];
  }

  static Tag tag(const Event& event) noexcept { return Tag(event.user_data); }
  /// The operation goes on after this completion.
  static bool more(const Event& event) noexcept { return (event.flags & IORING_CQE_F_MORE) != 0; }

  /// What a receive brought, until recycle(). REQUIRES: completions are taken in order.
  std::string_view bytes(const Event& event) const noexcept { return buffers_.bytes(event); }
  void recycle(const Event& event) noexcept { buffers_.recycle(event); }
  /// Bytes that one receive brings at most.
  std::size_t receive_bytes() const noexcept { return buffers_.buffer_bytes(); }

  /// Any thread: makes wait() return an event for kWake, once per call or few calls.
  void wake() noexcept;

 private:
  /// Completions taken at once, as in the reactor: 256 requests at 5 µs are 1.3 ms.
  static constexpr unsigned kBatch = 256;
  /// Sends of several pieces between two calls to the kernel.
  static constexpr unsigned kMessages = 8;
  /// How long a last send's completion may be late. It says something new only where the kernel's buffer is full
  /// although the send is small: the client does not read just now. Longer than the kernel's own tick: with 1 ms, a
  /// timer to be set up for nearly each wait, a request on one connection cost 1.11 times the floor's CPU instead of
  /// 0.89 (docs/experiments-uring.md).
  static constexpr int kLateMs = 20;

  /// A send of several pieces. The kernel reads it when it is handed over.
  struct Message {
    struct msghdr header;
    std::array<struct iovec, kMaxPieces> pieces;
  };

  static std::expected<void, std::string> try_out();
  struct io_uring_sqe& next() noexcept;
  struct msghdr& message(std::span<const struct iovec> pieces) noexcept;

  struct io_uring ring_ = {};
  bool opened_ = false;
  BufferRing buffers_;
  Fd wake_;
  unsigned taken_ = 0;       ///< completions of the last wait()
  unsigned last_sends_ = 0;  ///< asked for since the last wait()
  unsigned messages_used_ = 0;
  std::unique_ptr<std::array<Message, kMessages>> messages_;  ///< made for the first that needs it
};

}  // namespace leantea::net::uring
