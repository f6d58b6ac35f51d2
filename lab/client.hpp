// A small blocking HTTP/1 client over one connection, for checks and for runs in which requests are counted. It knows
// answers with Content-Length and no others: every server here sends those. One thread per object.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "descriptor.hpp"

namespace leantea::lab {

struct Answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> fields;  ///< names in lower case
  std::string content;
  std::size_t bytes = 0;  ///< size of the whole answer as received

  /// The value of the first field with this name (lower case), or nothing.
  std::optional<std::string_view> field(std::string_view name) const;
};

class Client {
 public:
  /// Connects to 127.0.0.1:port, from address 127.0.0.`host` of this machine. Throws Failure.
  explicit Client(std::uint16_t port, int host = 1);

  /// Sends all of `bytes`. Throws Failure.
  void send(std::string_view bytes);

  /// The next answer. Throws Failure when the server closes, is silent for 30 s, or sends what is not an answer.
  Answer receive();

  /// Waits for `answers` answers of `bytes` bytes each, and looks only at their size: what a run that counts
  /// has time for.
  void receive_counted(std::size_t answers, std::size_t bytes);

  Answer exchange(std::string_view request) {
    send(request);
    return receive();
  }

  int descriptor() const { return socket_.get(); }

 private:
  /// Receives some bytes into received_.
  void more();

  Descriptor socket_;
  std::string received_;  // bytes that came and are not consumed
};

/// The request `ab -k` sends for a GET of `path`, or with content for a POST: byte for byte.
std::string ab_request(std::string_view path, std::uint16_t port,
                       const std::optional<std::string>& content = {});

/// The request wrk sends for a GET of `path`.
std::string wrk_request(std::string_view path, std::uint16_t port);

}  // namespace leantea::lab
