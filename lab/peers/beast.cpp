// Boost.Beast as it is measured: asynchronous, one thread with an io_context and a listening socket of its own per
// worker, no timeouts, one read buffer per connection, answers written as messages. Boost has no Date and no numbers in
// queries, so these are here.
//
//   beast PORT WORKERS JSON      serves /health, /json (this text), /echo and /sum on 127.0.0.1
//   beast --version

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/version.hpp>
#include <boost/version.hpp>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

std::string json;  // written once, before any thread starts

/// The value of Date, made anew when the second is another one.
const std::string& date() {
  thread_local std::time_t made_at = 0;
  thread_local std::string text;
  if (const std::time_t now = std::time(nullptr); now != made_at) {
    made_at = now;
    char buffer[32];
    std::tm parts{};
    gmtime_r(&now, &parts);
    text.assign(buffer, std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &parts));
  }
  return text;
}

long number(std::string_view text) {
  long value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The sum of the numbers behind the equals signs of `?a=1&b=2`.
long sum_of(std::string_view target) {
  long sum = 0;
  for (std::size_t at = target.find('='); at != std::string_view::npos;
       at = target.find('=', at + 1))
    sum += number(target.substr(at + 1));
  return sum;
}

void fill(Response& response, const char* type, std::string content) {
  response.set(http::field::content_type, type);
  response.body() = std::move(content);
}

Response answer(Request& request) {
  Response response(http::status::ok, request.version());
  response.set(http::field::date, date());
  response.keep_alive(request.keep_alive());
  const std::string_view target(request.target().data(), request.target().size());
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/health") {
    fill(response, "text/plain", "OK");
  } else if (path == "/json") {
    fill(response, "application/json", json);
  } else if (path == "/echo") {
    fill(response, "application/octet-stream", std::move(request.body()));
  } else if (path == "/sum") {
    fill(response, "text/plain", std::to_string(sum_of(target) + number(request.body())));
  } else {
    response.result(http::status::not_found);
  }
  response.prepare_payload();
  return response;
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(tcp::socket socket) : socket_(std::move(socket)) {
    socket_.set_option(tcp::no_delay(true));
  }

  void read() {
    parser_.emplace();
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // `none` refuses all in 1.74
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (!error) self->write();
                     });
  }

 private:
  void write() {
    Request request = parser_->release();
    response_ = answer(request);
    http::async_write(socket_, response_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        if (!error && self->response_.keep_alive()) self->read();
                      });
  }

  tcp::socket socket_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Response response_;
};

void accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](beast::error_code error, tcp::socket socket) {
    if (!error) std::make_shared<Connection>(std::move(socket))->read();
    accept(acceptor);
  });
}

void serve(unsigned short port) {
  asio::io_context context(1);  // one thread uses it: no locks
  tcp::acceptor acceptor(context);
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  acceptor.open(endpoint.protocol());
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  acceptor.set_option(ReusePort(true));
  acceptor.bind(endpoint);
  acceptor.listen(4096);
  accept(acceptor);
  context.run();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("Boost %d.%d.%d, Beast %d\n", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
                BOOST_VERSION % 100, BOOST_BEAST_VERSION);
    return 0;
  }
  if (argc != 4) {
    std::fprintf(stderr, "usage: beast PORT WORKERS JSON\n");
    return 2;
  }
  const auto port = static_cast<unsigned short>(number(argv[1]));
  json = argv[3];
  std::vector<std::jthread> others;
  for (long i = 1; i < number(argv[2]); ++i) others.emplace_back([port] { serve(port); });
  serve(port);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "beast: %s\n", error.what());
  return 1;
}
