// Serving one connection, from its first byte to its last, with a thread of its own. All backends take these
// steps; here they stand in the order in which they happen to one client:
//
//     receive   what the client sent goes to its connection, which reads requests and calls handlers
//     send      what the connection has to say goes to the client, as far as the client takes it
//     settle    is it over, and what are we waiting for next?
//
// The connection (app/connection.hpp) knows HTTP and no sockets; this thread knows sockets and no HTTP.
#include "base/assert.hpp"
#include "net/threads/blocking_socket.hpp"
#include "net/threads/connection_thread.hpp"

namespace leantea::net::threads {

void ConnectionThread::serve(int fd) {
  Channel channel(*engine_, fd);
  read_ready(channel);  // the first request is often there already
  while (settle(channel)) {
    if (rests(channel)) {
      wait_in_receive(channel);  // for the client's next request, and for nothing else
    } else {
      wait_in_poll(channel);  // for the client, a handler, or time to pass
    }
    turn();
  }
  close(channel);
}

/// Receives what is there, at most kReceivesPerTurn times.
void ConnectionThread::read_ready(Channel& channel) {
  app::Connection& connection = channel.connection;
  for (int i = 0; i < kReceivesPerTurn; ++i) {
    std::span<char> space = connection.receive_space();
    const bool lent = !space.empty();
    if (!lent) space = {receive_buffer_.get(), kReceiveBytes};
    const IoResult got = receive_now(channel.fd, space);
    take_input(channel, got, space);
    // One receive is all there is, unless it filled its space.
    if (got.bytes < static_cast<ssize_t>(space.size()) || !connection.wants_input()) return;
    // A body that ended where its space did: what comes next has not been asked for yet.
    if (lent && connection.receive_space().empty()) return;
  }
}

void ConnectionThread::take_input(Channel& channel, IoResult got, std::span<char> space) {
  if (got.bytes > 0) {
    channel.connection.receive({space.data(), static_cast<std::size_t>(got.bytes)});
  } else if (got.ok()) {
    if (channel.input_shut && !peer_has_ended(channel.fd)) return;
    channel.end_seen = true;
    channel.connection.receive_end();
  } else if (got.error != IoError::kWouldBlock) {
    channel.connection.peer_gone();
  }
}

/// Brings the socket in line with what the connection wants. False: it is over.
bool ConnectionThread::settle(Channel& channel) {
  app::Connection& connection = channel.connection;
  if (connection.wants_output() && !channel.write_blocked) flush(channel);
  if (connection.wants_write_shutdown()) {
    shut_down_sending(channel.fd);
    connection.write_shutdown_done();
  }
  return !connection.finished();
}

/// Sends without waiting: while the client does not take its answer, deadlines must go on.
void ConnectionThread::flush(Channel& channel) {
  app::Connection& connection = channel.connection;
  for (int i = 0; i < kSendsPerTurn && connection.wants_output(); ++i) {
    struct iovec pieces[kMaxPieces];
    const base::Pieces offered = connection.output(pieces);
    const IoResult result = send_now(channel.fd, {pieces, offered.count});
    channel.write_blocked = result.error == IoError::kWouldBlock;
    if (channel.write_blocked) return;
    if (!result.ok()) return connection.peer_gone();
    const auto taken = static_cast<std::size_t>(result.bytes);
    connection.sent(taken);
    channel.write_blocked = taken < offered.bytes;
    if (channel.write_blocked) return;  // the kernel is full: another try would only say so
  }
}

}  // namespace leantea::net::threads
