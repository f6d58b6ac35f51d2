// RFC 9112 §9, RFC 9110 §9, §10: connections, pipelining, methods and expectations.
#include "conformance/rule.hpp"

namespace leantea::test {
namespace {

TEST(Persistence, IsTheClientsToEnd) {
  const Rule rules[] = {
      {"9112 §9.3", "1.1 goes on", get() + get(), "200 OK, 200 OK / open"},
      {"9112 §9.6", "close", get("Connection: close\r\n"), "200 OK / closed"},
      {"9110 §7.6.1", "options have no case", get("connection: CLOSE\r\n"), "200 OK / closed"},
      {"9110 §5.2", "in a list over two lines", get("Connection: a, b\r\nConnection: close\r\n"),
       "200 OK / closed"},
      {"9110 §7.6.1", "another option", get("Connection: x-close\r\n"), "200 OK / open"},
      {"9112 §9.3", "1.0 may ask to go on",
       "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "200 OK / open"},
      {"9112 §9.3", "but close wins",
       "GET /health HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "200 OK / closed"},
      {"9112 §9.3.2", "answers in the order of requests",
       get() + post("Content-Length: 2\r\n", "hi") + get("", "GET /json HTTP/1.1"),
       "200 OK, 200 hi, 200 {\"ok\":true} / open"},
      {"9112 §9.3", "a 404 ends nothing", get("", "GET /no HTTP/1.1") + get(),
       "404 Not Found, 200 OK / open"},
  };
  expect_rules(rules);
}

TEST(Methods, AreRoutedOrRefused) {
  const Rule rules[] = {
      {"9110 §9.3.2", "HEAD is GET without content", get("", "HEAD /health HTTP/1.1"),
       "200 / open"},
      {"9110 §9.3.2", "also where it is refused", get("", "HEAD /echo HTTP/1.1"), "405 / open"},
      {"9110 §15.5.6", "a method the route has not", get("", "PUT /json HTTP/1.1"),
       "405 Method Not Allowed / open"},
      {"9110 §9.3.7", "OPTIONS says what there is", get("", "OPTIONS /health HTTP/1.1"),
       "204 / open"},
      {"9110 §9.3.8", "TRACE is off", get("Cookie: a\r\n", "TRACE /health HTTP/1.1"),
       "405 Method Not Allowed / open"},
      {"9110 §9.3.6", "CONNECT is for proxies", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
       "501 Not Implemented / open"},
      {"9110 §9.3.1", "content of a GET has no meaning",
       get("Content-Length: 5\r\n") + "hello" + get(), "200 OK, 200 OK / open"},
  };
  expect_rules(rules);
}

TEST(Expectations, AreContinueOrRefused) {
  const Rule rules[] = {
      {"9110 §10.1.1", "content that did not wait",
       post("Expect: 100-continue\r\nContent-Length: 0\r\n", "") + get(), "200, 200 OK / open"},
      {"9110 §10.1.1", "without content", get("Expect: 100-continue\r\n"), "200 OK / open"},
      {"9110 §10.1.1", "1.0 knows none",
       "POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
       "200 hi / closed"},
      {"9110 §10.1.1", "an unknown one", get("Expect: tea\r\n"), "417 Expectation Failed / open"},
      {"9110 §7.8", "an upgrade to what is not spoken is ignored",
       get("Connection: upgrade\r\nUpgrade: sprocket/3\r\n"), "200 OK / open"},
  };
  expect_rules(rules);
  EXPECT_EQ(Wire(bench_app())
                .receive(post("Expect: 100-Continue\r\nContent-Length: 5\r\n", ""))
                .receive("hello")
                .answers(),
            "100, 200 hello");
}

}  // namespace
}  // namespace leantea::test
