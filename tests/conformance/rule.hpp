// A rule of HTTP/1.1 as a row: what comes, what must go out, and the section that says so. Each row is also
// delivered split at every byte and byte by byte, and must have the same outcome.
//
// An outcome is the answers – status and body – and what has become of the connection: "200 OK / open",
// "400 Bad Request / lingering" (answered, sending side shut down, the rest is read and dropped), "closed".
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/wire.hpp"

namespace leantea::test {

struct Rule {
  std::string_view section;
  std::string_view why;
  std::string bytes;
  std::string_view outcome;
};

inline constexpr std::string_view kRefused = "400 Bad Request / lingering";

/// Expects every row's outcome, from the bench server's routes.
template <std::size_t kSize>
void expect_rules(const Rule (&rules)[kSize]) {
  for (const Rule& rule : rules) {
    const std::vector<std::size_t> heads =
        rule.bytes.starts_with("HEAD ") ? std::vector<std::size_t>{0} : std::vector<std::size_t>{};
    EXPECT_EQ(outcome_at_every_split(rule.bytes, bench_app, heads), rule.outcome)
        << rule.section << ": " << rule.why;
  }
}

/// GET /health with this request line and these field lines.
inline std::string get(std::string_view fields = "",
                       std::string_view line = "GET /health HTTP/1.1") {
  return std::string(line) + "\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}
/// POST /echo with these field lines and this body.
inline std::string post(std::string_view fields, std::string_view body) {
  return "POST /echo HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n" + std::string(body);
}
inline std::string chunked(std::string_view body) {
  return post("Transfer-Encoding: chunked\r\n", body);
}

}  // namespace leantea::test
