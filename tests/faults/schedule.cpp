#include "faults/schedule.hpp"

#include <array>
#include <charconv>

namespace leantea::test {
namespace {

std::string hex(std::size_t number) {
  std::array<char, 16> digits;
  return {digits.data(),
          std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr};
}

std::string random_text(Dice& dice, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>('a' + dice.below(26));
  return text;
}

/// The body of a request under either framing, with the fields that say so.
std::string with_body(Dice& dice, const std::string& line, const std::string& body) {
  std::string bytes = line + "Host: a\r\n";
  if (dice.one_in(2))
    return bytes + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  bytes += "Transfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t size = 1 + dice.below(body.size() - at);
    bytes +=
        hex(size) + (dice.one_in(4) ? ";x=\"y;z\"" : "") + "\r\n" + body.substr(at, size) + "\r\n";
    at += size;
  }
  return bytes + (dice.one_in(3) ? "0\r\nX-Sum: 1\r\n\r\n" : "0\r\n\r\n");
}

PlannedRequest plan_one(Dice& dice, int index) {
  const std::string id = std::to_string(index);
  const std::string version = " HTTP/1.1\r\n";
  PlannedRequest request;
  switch (dice.below(10)) {
    case 0:
    case 1:
      request.bytes = "GET /id/" + id + version + "Host: a\r\n\r\n";
      request.body = id;
      return request;
    case 2:
      request.bytes = "HEAD /id/" + id + version + "Host: a\r\n\r\n";
      request.head = true;
      return request;
    case 3:
    case 4: {
      request.body = random_text(dice, dice.one_in(5) ? dice.below(9000) : dice.below(60));
      request.bytes = with_body(dice, "POST /echo" + version, request.body);
      return request;
    }
    case 5: {
      const std::string body = random_text(dice, dice.below(5000));
      request.body = std::to_string(body.size());
      request.bytes = with_body(dice, "POST /count" + version, body);
      return request;
    }
    case 6:
      request.body = id;
      request.bytes =
          "GET /sleep/" + std::to_string(dice.below(400)) + "/" + id + version + "Host: a\r\n\r\n";
      return request;
    case 7: {
      const auto size = dice.below(20'000);
      request.body = std::string(size, 'x');
      request.bytes = "GET /stream/" + std::to_string(size) + version + "Host: a\r\n\r\n";
      return request;
    }
    case 8:
      request.body = "early";
      request.bytes = with_body(dice, "POST /early" + version, random_text(dice, dice.below(300)));
      return request;
    default:
      request.status = 404;
      request.body = "Not Found";
      request.bytes = "GET /none" + version + "Host: a\r\n\r\n";
      return request;
  }
}

/// What the connection does not survive: an end that the client asks for, or bytes that are no request.
PlannedRequest plan_last(Dice& dice) {
  PlannedRequest request;
  request.ends = true;
  if (dice.one_in(2)) {
    request.bytes = "GET /id/last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    request.body = "last";
    return request;
  }
  constexpr std::array<const char*, 6> kMalformed = {
      "GET /id/1 HTTP/1.1\r\n\r\n",
      "GET /id/1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET /id/1 HTTP/1.1\nHost: a\n\n",
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
      "\x16\x03\x01\x02\x01\x01",
  };
  request.bytes = kMalformed[dice.below(kMalformed.size())];
  request.status = 400;
  request.body = "Bad Request";
  return request;
}

}  // namespace

std::vector<PlannedRequest> plan_requests(Dice& dice) {
  std::vector<PlannedRequest> requests;
  const auto count = static_cast<int>(1 + dice.below(12));
  for (int i = 0; i < count; ++i) requests.push_back(plan_one(dice, i));
  if (dice.one_in(3)) requests.push_back(plan_last(dice));
  return requests;
}

}  // namespace leantea::test
