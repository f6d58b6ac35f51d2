// Client: a blocking HTTP client on a real socket, for tests of running servers. It sends what it is told,
// byte for byte, and shows what came back as short text:
//
//   Client client(server.port());
//   client.send(get("/health") + get("/none"));
//   EXPECT_EQ(client.answers(2), "200 OK, 404 Not Found");
//   EXPECT_EQ(client.end(), "closed");
//
// One thread at a time. No call waits for longer than kPatience: what has not come by then is told as
// "nothing came", so a test fails and does not hang.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace leantea::test {

using namespace std::chrono_literals;

/// How long a client waits for what should be there at once. Long, as the machine may be busy.
inline constexpr std::chrono::milliseconds kPatience = 20s;

// Requests.

/// "GET <path> HTTP/1.1" with Host and these further field lines (each with its line end).
std::string get(std::string_view path, std::string_view fields = {});
/// POST with Content-Length.
std::string post(std::string_view path, std::string_view body, std::string_view fields = {});
/// The head of a POST whose body, of this many bytes, is still to come.
std::string post_head(std::string_view path, std::size_t length, std::string_view fields = {});
/// The head of a POST with the chunked coding, and one chunk of it.
std::string chunked_post_head(std::string_view path);
std::string chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

class Client {
 public:
  /// Connects to 127.0.0.1.
  explicit Client(std::uint16_t port);
  /// The same with segments of at most `segment` bytes. Without it a client with a small receive buffer waits
  /// for the delayed acknowledgement of each piece, as the loopback's segments are larger than the buffer.
  Client(std::uint16_t port, int segment);
  /// Connects to an address as Server::addresses() shows it: "127.0.0.1:80", "[::1]:80", "unix:/path".
  explicit Client(std::string_view address);
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  ~Client();

  /// False: the connection was refused.
  bool connected() const noexcept { return fd_ >= 0; }

  /// Sends all of it, waiting for the server to take it. False: the connection is gone.
  bool send(std::string_view bytes);
  /// Sends without waiting; how much the kernel took.
  std::size_t send_what_fits(std::string_view bytes);

  /// The next answer, interim ones too: "200 OK" is the status and the content. "closed", "reset" and
  /// "nothing came" where there is none, "broken off" where it was not complete.
  std::string answer();
  /// As many answers as that, with ", " between them; ends early with the first that is none.
  std::string answers(int count);
  /// send() and answer().
  std::string ask(std::string_view request);
  /// Status line and field lines of the last answer.
  const std::string& head() const noexcept { return head_; }
  /// The last answer had this field line.
  bool has(std::string_view field_line) const;

  /// What ends the connection: "closed", "reset" or "nothing came"; "bytes" where more bytes came than
  /// the answers that were asked for.
  std::string end();
  /// True when nothing comes for so long, not even the end.
  bool quiet_for(std::chrono::milliseconds time);
  /// Reads and drops this many bytes of what comes. False: it ended before.
  bool skip(std::size_t bytes);
  /// The bytes that can be read at once, at most this many.
  std::string read_some(std::size_t most = 64 * 1024);

  /// Ends the sending side.
  void shut_down();
  /// Ends both sides with an RST: what was on the way is lost.
  void reset();
  /// Ends both sides.
  void close() noexcept;
  /// Lets the kernel hold at most about this many bytes that were not read.
  void receive_buffer(int bytes);

 private:
  void connect_to(std::string_view address, int segment);

  enum class Got : std::uint8_t { kBytes, kEnd, kReset, kNothing };
  Got receive_more(std::chrono::milliseconds patience = kPatience);
  static std::string to_text(Got got);

  int fd_ = -1;
  std::string received_;  ///< not taken as an answer yet
  std::string head_;
};

/// Waits until `holds` does, at most kPatience. False: it never did.
bool eventually(const std::function<bool()>& holds);

}  // namespace leantea::test
