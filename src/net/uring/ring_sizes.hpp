// RingSizes: how large a ring and its receive buffers are. A plain value; tests make them tiny.
//
// All numbers are powers of two. Nothing breaks when one of them is met: operations are handed over in several
// calls, completions wait in the kernel's memory, a receive without a buffer is started again at the end of
// the turn.
#pragma once

namespace leantea::net::uring {

/// The memory that a ring receives into. All of it is free between two turns, so it bounds what a turn brings,
/// over all connections.
struct BufferSizes {
  /// Bytes of one buffer: what one receive brings at most.
  unsigned bytes;
  /// At most 32,768.
  unsigned count;
};

struct RingSizes {
  /// Operations handed over at once. A turn has a send, and now and then a receive, for each of its requests.
  unsigned submissions = 256;
  /// Completions the kernel has room for without taking memory for each. A turn brings about 20 where the
  /// kernel bounds it (6.13), elsewhere up to one per connection.
  unsigned completions = 1024;
  /// Where receives can share a buffer, each behind the last (Linux 6.12). For small requests a quarter
  /// would do as well, but not for many large bodies at once: of 1 MB on 16 connections each costs 1.5 times
  /// the floor's CPU with 512 KiB, 1.8 with 256 and 5.2 with 128. All of it is touched in time, and so
  /// counts as memory of the connections.
  BufferSizes shared = {.bytes = 128 * 1024, .count = 4};
  /// Where each receive takes a whole one: as many as receives may come in one turn, each large enough for most
  /// requests.
  BufferSizes whole = {.bytes = 4 * 1024, .count = 256};
  /// False: as on a kernel without shared buffers.
  bool may_share = true;
};

}  // namespace leantea::net::uring
