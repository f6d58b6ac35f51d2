// The outputs are recorded from wrk 4.1.0 and ab 2.3 as Debian 12 has them.
#include "load.hpp"

#include <gtest/gtest.h>

#include "failure.hpp"
#include "files.hpp"

namespace leantea::lab {
namespace {

constexpr std::string_view kWrk = R"(Running 2s test @ http://127.0.0.1:18099/health
  1 threads and 128 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   813.85us  192.83us   2.68ms   93.96%
    Req/Sec    81.83k     1.09k   84.43k    70.00%
  162830 requests in 2.01s, 23.14MB read
Requests/sec:  81173.71
Transfer/sec:     11.53MB
lab: requests=162830 duration=2005945 p50=774 p99=1616 p999=2302 max=2676 connect=0 read=0 write=0 status=0 timeout=0
)";

constexpr std::string_view kWrkNotFound = R"(Running 1s test @ http://127.0.0.1:18099/nope
  1 threads and 16 connections
  58207 requests in 1.00s, 17.10MB read
  Non-2xx or 3xx responses: 58207
Requests/sec:  58132.88
lab: requests=58207 duration=1001288 p50=261 p99=387 p999=700 max=2970 connect=0 read=0 write=0 status=58207 timeout=0
)";

constexpr std::string_view kWrkSocketErrors = R"(Running 1s test @ http://127.0.0.1:18099/health
  1 threads and 16 connections
  12 requests in 1.00s, 1.74KB read
  Socket errors: connect 3, read 5, write 2, timeout 1
lab: requests=12 duration=1001288 p50=261 p99=387 p999=700 max=2970 connect=3 read=5 write=2 status=0 timeout=1
)";

constexpr std::string_view kAb = R"(This is ApacheBench, Version 2.3 <$Revision$>
Benchmarking 127.0.0.1 (be patient).....done

Server Software:        nginx/1.22.1
Concurrency Level:      64
Time taken for tests:   0.205 seconds
Complete requests:      20000
Failed requests:        0
Keep-Alive requests:    20000
Total transferred:      2980000 bytes
HTML transferred:       40000 bytes
Requests per second:    97327.86 [#/sec] (mean)
Time per request:       0.658 [ms] (mean)
)";

constexpr std::string_view kAbPercentiles = R"(Percentage served,Time in ms
0,0.301
1,0.402
50,0.644
99,1.217
)";

constexpr std::string_view kAbFailing = R"(Time taken for tests:   0.030 seconds
Complete requests:      1000
Failed requests:        7
   (Connect: 0, Receive: 0, Length: 7, Exceptions: 0)
Non-2xx responses:      990
Requests per second:    33333.00 [#/sec] (mean)
)";

TEST(ParseWrk, ReadsTheLineOfTheScript) {
  const LoadResult result = parse_wrk(kWrk);
  EXPECT_TRUE(result.sound());
  EXPECT_EQ(result.requests, 162830U);
  EXPECT_NEAR(result.seconds, 2.005945, 1e-9);
  EXPECT_NEAR(result.requests_per_second, 81173.71, 0.01);  // as wrk says itself
  EXPECT_DOUBLE_EQ(result.p50, 774);
  EXPECT_DOUBLE_EQ(result.p99, 1616);
}

TEST(ParseWrk, OtherStatusesMakeTheRunVoid) {
  const LoadResult result = parse_wrk(kWrkNotFound);
  EXPECT_FALSE(result.sound());
  EXPECT_EQ(fault_of(result), "58207 answers were not 2xx");
}

TEST(ParseWrk, SocketErrorsMakeTheRunVoid) {
  const LoadResult result = parse_wrk(kWrkSocketErrors);
  EXPECT_FALSE(result.sound());
  EXPECT_EQ(fault_of(result), "11 socket errors");
}

TEST(ParseWrk, AnythingElseIsAFailure) {
  EXPECT_THROW(parse_wrk("unable to connect to 127.0.0.1:1 Connection refused"), Failure);
  EXPECT_THROW(parse_wrk(""), Failure);
}

TEST(ParseAb, ReadsCountsRateAndPercentiles) {
  const LoadResult result = parse_ab(kAb, kAbPercentiles);
  EXPECT_TRUE(result.sound());
  EXPECT_EQ(result.requests, 20000U);
  EXPECT_DOUBLE_EQ(result.seconds, 0.205);
  EXPECT_DOUBLE_EQ(result.requests_per_second, 97327.86);
  EXPECT_DOUBLE_EQ(result.p50, 644);
  EXPECT_DOUBLE_EQ(result.p99, 1217);
}

TEST(ParseAb, FailedRequestsMakeTheRunVoid) {
  const LoadResult result = parse_ab(kAbFailing, "");
  EXPECT_FALSE(result.sound());
  EXPECT_EQ(result.bad_status, 990U);
  EXPECT_EQ(result.socket_errors, 7U);
}

TEST(ParseAb, AnythingElseIsAFailure) {
  EXPECT_THROW(parse_ab("apr_pollset_poll: The timeout specified has expired (70007)", ""),
               Failure);
}

TEST(LoadFiles, AreInTheProgram) {
  for (const char* name : {"load/report.lua", "scenarios/health.toml", "peers/nginx.conf"}) {
    EXPECT_FALSE(file(name).empty()) << name;
  }
}

TEST(LoadDescribe, SaysWhatIsSent) {
  EXPECT_EQ(describe(Load{}), "wrk, 128 connections, GET /health");
  Load echo{.requests = {{.method = "POST", .target = "/echo", .content = "hello"}}};
  echo.connections = 16;
  EXPECT_EQ(describe(echo), "wrk, 16 connections, POST /echo, 5 bytes");
  Load pipelined{.pipeline = 16};
  EXPECT_EQ(describe(pipelined), "wrk, 128 connections, GET /health, 16 pipelined");
  Load reconnecting{.requests_per_connection = 10};
  EXPECT_EQ(describe(reconnecting),
            "wrk, 128 connections, GET /health, a new connection after 10 requests");
}

TEST(RequestBytes, AreFramedByLengthOrInChunks) {
  EXPECT_EQ(bytes_of({.target = "/sum?a=1"}, 80),
            "GET /sum?a=1 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n");
  const RequestSpec post{.method = "POST", .target = "/x", .fields = {"A: b"}, .content = "20"};
  EXPECT_EQ(bytes_of(post, 80),
            "POST /x HTTP/1.1\r\nHost: 127.0.0.1:80\r\nA: b\r\nContent-Length: 2\r\n\r\n20");
  RequestSpec chunked = post;
  chunked.chunked = true;
  EXPECT_EQ(bytes_of(chunked, 80, true),
            "POST /x HTTP/1.1\r\nHost: 127.0.0.1:80\r\nA: b\r\nConnection: close\r\n"
            "Transfer-Encoding: chunked\r\n\r\n2\r\n20\r\n0\r\n\r\n");
}

TEST(Load, NamesTheRoutesThatAServerNeeds) {
  const Load load{.requests = {{.target = "/sum?a=1"}, {.target = "/health"}, {.target = "/sum"}}};
  EXPECT_EQ(load.routes(), (std::vector<std::string>{"/sum", "/health"}));
}

}  // namespace
}  // namespace leantea::lab
