// Wire: a small language for tests of the protocol. One connection to an application, without a socket and
// in virtual time; what is received, what is sent, what time does.
//
//   Wire wire(bench_app());
//   wire.receive("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
//   EXPECT_EQ(wire.answers(), "200 OK");
//
// One thread; see app/socketless.hpp.
#pragma once

#include <charconv>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <leantea/leantea.hpp>

#include "app/socketless.hpp"
#include "http/ascii.hpp"

namespace leantea::test {

using namespace std::chrono_literals;

/// One answer as it came over the wire.
struct WireAnswer {
  int status = 0;
  std::string head;  ///< status line and field lines
  std::string body;  ///< decoded
  std::string trailers;
  bool chunked = false;
  bool until_close = false;
  bool has(std::string_view field_line) const {
    return head.find("\r\n" + std::string(field_line) + "\r\n") != std::string::npos;
  }
};

/// Takes the answers off the front of `bytes`, interim ones included. `heads`: which answers (counted
/// without interim ones) are to HEAD. What cannot be read as an answer stays in `bytes`.
inline std::vector<WireAnswer> take_answers(std::string& bytes,
                                            const std::vector<std::size_t>& heads = {}) {
  std::vector<WireAnswer> answers;
  std::size_t final_count = 0;
  for (;;) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string::npos || !bytes.starts_with("HTTP/1.1 ")) return answers;
    WireAnswer answer;
    answer.head = bytes.substr(0, end + 2);
    std::from_chars(answer.head.data() + 9, answer.head.data() + 12, answer.status);
    std::size_t at = end + 4;
    const auto field = [&](std::string_view name) -> std::string {
      std::size_t line = answer.head.find("\r\n") + 2;
      while (line < answer.head.size()) {
        const std::size_t line_end = answer.head.find("\r\n", line);
        const std::size_t colon = answer.head.find(':', line);
        if (http::equal_ignoring_case(std::string_view(answer.head).substr(line, colon - line),
                                      name))
          return answer.head.substr(colon + 2, line_end - colon - 2);
        line = line_end + 2;
      }
      return {};
    };
    const bool interim = answer.status < 200;
    bool head = false;
    if (!interim) {
      for (const std::size_t index : heads) head = head || index == final_count;
      ++final_count;
    }
    if (interim || head || answer.status == 204 || answer.status == 304) {
    } else if (field("Transfer-Encoding") == "chunked") {
      answer.chunked = true;
      for (;;) {
        const std::size_t line_end = bytes.find("\r\n", at);
        if (line_end == std::string::npos) return answers;
        std::size_t size = 0;
        std::from_chars(bytes.data() + at, bytes.data() + line_end, size, 16);
        at = line_end + 2;
        if (size == 0) break;
        if (bytes.size() < at + size + 2) return answers;
        answer.body.append(bytes, at, size);
        at += size + 2;
      }
      while (!std::string_view(bytes).substr(at).starts_with("\r\n")) {
        const std::size_t line_end = bytes.find("\r\n", at);
        if (line_end == std::string::npos) return answers;
        answer.trailers.append(bytes, at, line_end + 2 - at);
        at = line_end + 2;
      }
      at += 2;
    } else if (const std::string length = field("Content-Length"); !length.empty()) {
      std::size_t size = 0;
      std::from_chars(length.data(), length.data() + length.size(), size);
      if (bytes.size() < at + size) return answers;
      answer.body = bytes.substr(at, size);
      at += size;
    } else {
      answer.until_close = true;
      answer.body = bytes.substr(at);
      at = bytes.size();
    }
    bytes.erase(0, at);
    answers.push_back(std::move(answer));
  }
}

class Wire {
 public:
  explicit Wire(Router app, Limits limits = {})
      : server_(std::move(app), limits), connection_(server_) {}

  Wire& receive(std::string_view bytes) {
    connection_.receive(bytes);
    return *this;
  }
  Wire& receive_in_pieces(const std::vector<std::string_view>& pieces) {
    for (const std::string_view piece : pieces) receive(piece);
    return *this;
  }
  Wire& receive_end() {
    connection_.receive_end();
    return *this;
  }
  Wire& elapse(std::chrono::milliseconds time) {
    connection_.elapse(time);
    return *this;
  }
  /// Waits for a worker, then drives the connection.
  Wire& worker() {
    server_.wait_for_worker();
    connection_.drive();
    return *this;
  }

  /// All bytes sent since the last call.
  std::string sent() { return connection_.take_sent(); }
  /// The answers sent since the last call, e.g. "200 OK, 404 Not Found" – status and body of each. Bytes
  /// that are no answer are shown behind them as "+<bytes>".
  std::string answers(const std::vector<std::size_t>& heads = {}) {
    last_.clear();
    std::string bytes = connection_.take_sent();
    last_ = take_answers(bytes, heads);
    std::string text;
    for (const WireAnswer& answer : last_) {
      if (!text.empty()) text += ", ";
      text += std::to_string(answer.status);
      if (!answer.body.empty()) text += " " + answer.body;
    }
    if (!bytes.empty()) text += "+" + bytes;
    return text;
  }
  /// The answers that answers() read last.
  const std::vector<WireAnswer>& last() const { return last_; }

  /// What has become of the connection: "open", "lingering" (sending side shut down), "closed", "reset".
  std::string state() const {
    if (connection_.closed()) return connection_.was_reset() ? "reset" : "closed";
    return connection_.write_shut_down() ? "lingering" : "open";
  }

  app::SocketlessConnection& connection() { return connection_; }
  app::SocketlessServer& server() { return server_; }

 private:
  app::SocketlessServer server_;
  app::SocketlessConnection connection_;
  std::vector<WireAnswer> last_;
};

/// The routes of the bench server.
inline Router bench_app() {
  Router app;
  app.get("/health", [](const Request&) { return Response::text("OK"); });
  app.get("/json", [](const Request&) { return Response::json("{\"ok\":true}"); });
  app.post("/echo", [](Request& r) { return Response::bytes(r.take_body()); });
  return app;
}

/// What a fresh connection answers when `bytes` come in these pieces: answers, then its state after the
/// client has ended and lingering is over.
inline std::string outcome(const std::function<Router()>& app,
                           const std::vector<std::string_view>& pieces,
                           const std::vector<std::size_t>& heads, Limits limits) {
  Wire wire(app(), limits);
  wire.receive_in_pieces(pieces);
  std::string text = wire.answers(heads);
  text += " / " + wire.state();
  return text;
}

/// The outcome of `bytes` in one piece, after it was found to be the same for every split in two and for
/// delivery byte by byte; else a text that shows where it differs.
inline std::string outcome_at_every_split(std::string_view bytes,
                                          const std::function<Router()>& app = bench_app,
                                          const std::vector<std::size_t>& heads = {},
                                          Limits limits = {}) {
  const std::string whole = outcome(app, {bytes}, heads, limits);
  for (std::size_t at = 1; at < bytes.size(); ++at) {
    const std::string split = outcome(app, {bytes.substr(0, at), bytes.substr(at)}, heads, limits);
    if (split != whole)
      return "split at " + std::to_string(at) + ": " + split + " – whole: " + whole;
  }
  std::vector<std::string_view> single;
  for (std::size_t at = 0; at < bytes.size(); ++at) single.push_back(bytes.substr(at, 1));
  const std::string drip = outcome(app, single, heads, limits);
  return drip == whole ? whole : "byte by byte: " + drip + " – whole: " + whole;
}

}  // namespace leantea::test
