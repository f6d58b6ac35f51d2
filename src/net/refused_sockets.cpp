#include "net/refused_sockets.hpp"

#include <sys/uio.h>

#include "net/socket.hpp"

namespace leantea::net {

RefusedSockets::~RefusedSockets() {
  while (count_ > 0) close_oldest();
}

void RefusedSockets::refuse(int fd, std::string_view answer, base::Millis now) noexcept {
  // sendmsg(2) wants a pointer to mutable bytes and does not write to them.
  struct iovec piece = {.iov_base = const_cast<char*>(answer.data()), .iov_len = answer.size()};
  if (!send(fd, {&piece, 1}).ok()) {
    close_socket(fd, /*reset=*/false);
    return;
  }
  shut_down_sending(fd);
  if (count_ == kCapacity) close_oldest();
  ring_[(first_ + count_) % kCapacity] = {.fd = fd, .due = now + kKeepMs};
  ++count_;
}

void RefusedSockets::expire(base::Millis now) noexcept {
  while (count_ > 0 && oldest().due <= now) close_oldest();
}

base::Millis RefusedSockets::due() const noexcept {
  return count_ > 0 ? ring_[first_].due : kNever;
}

void RefusedSockets::close_oldest() noexcept {
  close_socket(oldest().fd, /*reset=*/false);
  first_ = (first_ + 1) % kCapacity;
  --count_;
}

}  // namespace leantea::net
