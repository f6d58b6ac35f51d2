// RingSizes: how large a ring and its receive buffers are. A plain value; tests make them tiny.
//
// All are powers of two. Nothing breaks when one of them is met: operations are handed over in several
// calls, completions wait in the kernel's memory, a receive without a buffer is started again at the end of
// the turn.
#pragma once

namespace leantea::net::uring {

struct RingSizes {
  /// Operations handed over at once. A turn has a send, and now and then a receive, for each of its requests.
  unsigned submissions = 256;
  /// Completions the kernel has room for without taking memory for each. A turn brings about 20 where the
  /// kernel bounds it (6.13), elsewhere up to one per connection.
  unsigned completions = 1024;
  /// Bytes of a receive buffer, and so what one receive brings at most: as in the reactor.
  unsigned buffer_bytes = 64 * 1024;
  /// Receive buffers. All of them are free between two turns, so their memory bounds what a turn brings, over
  /// all connections: 512 KiB, enough for 20 receives (a turn's usual bound) of 25 KiB. At most 65,536.
  unsigned buffers = 8;
};

}  // namespace leantea::net::uring
