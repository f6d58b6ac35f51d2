// The readers of other programs' reports (strace, callgrind, perf), and what is drawn and written from them.
#include <algorithm>

#include <gtest/gtest.h>

#include "failure.hpp"
#include "flame_graph.hpp"
#include "histogram.hpp"
#include "instructions.hpp"
#include "json.hpp"
#include "machine.hpp"
#include "syscalls.hpp"
#include "table.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

constexpr std::string_view kStrace = R"(% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 52.08    0.037500           3     11100           sendto
 30.00    0.021600           1     11100           recvfrom
 17.92    0.012900           1     11103        12 epoll_wait
  0.00    0.000000           0         1           bind
------ ----------- ----------- --------- --------- ----------------
100.00    0.072000           2     33304        12 total
)";

TEST(ParseStrace, ReadsCallsWithAndWithoutErrors) {
  const Calls calls = parse_strace(kStrace);
  EXPECT_EQ(calls.size(), 4U);
  EXPECT_DOUBLE_EQ(calls.at("sendto"), 11100);
  EXPECT_DOUBLE_EQ(calls.at("epoll_wait"), 11103);
}

TEST(PerRequest, IsFreeOfWhatBothRunsDidOnce) {
  const Calls shorter{{"bind", 1}, {"sendto", 1000}, {"close", 3}};
  const Calls longer{{"bind", 1}, {"sendto", 11000}, {"close", 3}, {"mmap", 10}};
  const Calls calls = per_request(shorter, longer, 10000);
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_DOUBLE_EQ(calls.at("sendto"), 1);
  EXPECT_DOUBLE_EQ(calls.at("mmap"), 0.001);
}

TEST(ParseCallgrind, ReadsTheSum) {
  EXPECT_EQ(parse_callgrind("version: 1\nevents: Ir\nsummary: 3105731\n\nfn=(1) main\n"), 3105731U);
  EXPECT_EQ(parse_callgrind("version: 1\nevents: Ir\n\ntotals: 12\n"), 12U);
  EXPECT_EQ(parse_callgrind(""), 0U);
}

constexpr std::string_view kPerf = R"(floor  6376/6376   1251.860701:    1001001 cpu-clock:
    ffffffff815e4c6a tcp_sendmsg+0x2a ([kernel.kallsyms])
               20ca3 __send+0x13 (/usr/lib/x86_64-linux-gnu/libc.so.6)
                80c5 (anonymous namespace)::Floor::run+0x215 (/usr/bin/floor)

floor  6376/6376   1251.861701:    1001001 cpu-clock:
               20ca3 __send+0x13 (/usr/lib/x86_64-linux-gnu/libc.so.6)
                80c5 (anonymous namespace)::Floor::run+0x215 (/usr/bin/floor)

floor  6376/6376   1251.862701:    1001001 cpu-clock:
        7fe9f43b28a8 [unknown] (/usr/lib/libx.so)

)";

TEST(Fold, TurnsSamplesIntoStacksFromTheOutside) {
  const FoldedStacks stacks = fold(kPerf);
  EXPECT_EQ(stacks.size(), 3U);
  EXPECT_EQ(stacks.at("floor;(anonymous namespace)::Floor::run;__send;tcp_sendmsg_[k]"), 1U);
  EXPECT_EQ(stacks.at("floor;(anonymous namespace)::Floor::run;__send"), 1U);
  EXPECT_EQ(stacks.at("floor;[libx.so]"), 1U);
}

TEST(FlameGraph, HasABoxWithHoverTextForEachFrame) {
  const std::string svg = flame_graph({{"a;b<int>;c_[k]", 3}, {"a;d", 1}}, "title & more");
  EXPECT_NE(svg.find("<title>all (100.00 %, 4 samples)</title>"), std::string::npos);
  EXPECT_NE(svg.find("<title>b&lt;int&gt; (75.00 %, 3 samples)</title>"), std::string::npos);
  EXPECT_NE(svg.find("<title>d (25.00 %, 1 samples)</title>"), std::string::npos);
  EXPECT_NE(svg.find("title &amp; more"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(FlameGraph, OfNothingIsStillAPicture) {
  EXPECT_TRUE(flame_graph({}, "empty").ends_with("</svg>\n"));
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.record(std::chrono::nanoseconds(i));
  EXPECT_EQ(histogram.count(), 100U);
  EXPECT_EQ(histogram.percentile(50).count(), 50);
  EXPECT_EQ(histogram.percentile(99).count(), 99);
  EXPECT_EQ(histogram.percentile(100).count(), 100);
  EXPECT_EQ(Histogram().percentile(50).count(), 0);
}

TEST(Histogram, LargeValuesAreWithinOnePercent) {
  for (std::int64_t value = 100; value < 3'000'000'000'000; value += value * 37 / 100) {
    Histogram histogram;
    histogram.record(std::chrono::nanoseconds(value));
    histogram.record(std::chrono::hours(10));  // so that the largest does not hide the bucket's end
    const auto found = static_cast<double>(histogram.percentile(50).count());
    const auto exact = static_cast<double>(value);
    EXPECT_GE(found, exact);
    EXPECT_LE(found, exact * 1.008 + 1);
  }
}

TEST(Histogram, SumsOfTwoAreTheHistogramOfBoth) {
  Histogram a;
  Histogram b;
  a.record(std::chrono::microseconds(1));
  b.record(std::chrono::microseconds(5));
  a.add(b);
  EXPECT_EQ(a.count(), 2U);
  EXPECT_EQ(a.max(), std::chrono::microseconds(5));
}

TEST(Table, AlignsNumbersRightAndCountsLettersNotBytes) {
  Table table({"server", "CPU µs"});
  table.add({"ours", "4.80"});
  table.add({"nginx", "12.00"});
  table.add({"floor", "–"});
  EXPECT_EQ(table.text(),
            "  server  CPU µs\n  ours      4.80\n  nginx    12.00\n  floor        –\n");
  EXPECT_EQ(table.markdown(),
            "| server | CPU µs |\n|---|---:|\n| ours | 4.80 |\n| nginx | 12.00 |\n| floor | – |\n");
}

TEST(Json, WritesNestedValuesInOrder) {
  Json json;
  json.object([&] {
    json.field("name", "a \"b\"");
    json.field("count", 3U);
    json.array("values", [&] {
      json.value(1.5);
      json.null();
    });
    json.object("inner", [&] { json.field("yes", true); });
  });
  std::string text = json.text();
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_EQ(text, R"({"name":"a\"b\"","count":3,"values":[1.5,null],"inner":{"yes":true}})");
}

TEST(Placement, GivesServerAndLoadDifferentCoresWhereThereAreTwo) {
  const Placement one = place({0}, 1);
  EXPECT_TRUE(one.shared());
  const Placement two = place({0, 1}, 1);
  EXPECT_EQ(two.server, std::vector<int>{1});
  EXPECT_EQ(two.load, std::vector<int>{0});
  const Placement both = place({0, 1}, 2);
  EXPECT_EQ(both.server, (std::vector<int>{0, 1}));
  EXPECT_EQ(both.load, both.server);
}

TEST(Placement, TakesOnlyCoresThatCanBeUsed) {
  EXPECT_NO_THROW(require_cpus("--load-cpus", {}, {0, 1}));
  EXPECT_NO_THROW(require_cpus("--load-cpus", {1, 0}, {0, 1}));
  EXPECT_THROW(require_cpus("--load-cpus", {-1}, {0, 1}), Failure);
  try {
    require_cpus("--server-cpus", {1, 99}, {0, 1});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitUsage);
    EXPECT_STREQ(failure.what(), "--server-cpus: there is no core 99 to use; there are 0,1");
  }
}

TEST(WriteText, SaysBeforehandAndAfterwardsWhyItCannot) {
  EXPECT_NO_THROW(require_place_for("--json", ""));
  EXPECT_NO_THROW(require_place_for("--json", "-"));
  EXPECT_NO_THROW(require_place_for("--json", "new.json"));
  EXPECT_THROW(require_place_for("--json", "no-such-folder/new.json"), Failure);
  EXPECT_THROW(require_place_for("--json", "."), Failure);
  try {
    write_text("/dev/full", "text");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "cannot write /dev/full: No space left on device");
  }
}

TEST(BusyShare, IsThePartOfTheTimeBetween) {
  EXPECT_DOUBLE_EQ(busy_share({.busy = 100, .idle = 100}, {.busy = 175, .idle = 125}), 0.75);
  EXPECT_DOUBLE_EQ(busy_share({.busy = 1, .idle = 1}, {.busy = 1, .idle = 1}), 0);
}

TEST(Text, IsTakenApart) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(words_of("  one\ttwo\n"), (std::vector<std::string_view>{"one", "two"}));
  EXPECT_EQ(trimmed(" \t x y \n"), "x y");
  EXPECT_EQ(trimmed("  "), "");
  EXPECT_EQ(number_or<int>("12 kB", 0), 12);
  EXPECT_EQ(number_or<int>("none", -1), -1);
}

}  // namespace
}  // namespace leantea::lab
