#include "server/descriptor_limit.hpp"

#include <sys/resource.h>

#include <gtest/gtest.h>

namespace leantea::server {
namespace {

TEST(DescriptorLimit, IsRaisedAsFarAsTheProcessMay) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);

  const std::uint64_t raised = raise_descriptor_limit();
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, raised);
  EXPECT_GT(raised, 100u);
  EXPECT_EQ(raise_descriptor_limit(), raised);

  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(DescriptorLimit, IsNoProblemWhereTheConnectionsFit) {
  EXPECT_EQ(descriptor_warning(1'000'000, 100'000), "");
  EXPECT_EQ(descriptor_warning(100'064, 100'000), "");
  EXPECT_EQ(descriptor_warning(UINT64_MAX, UINT32_MAX), "");
}

TEST(DescriptorLimit, SaysWhatToDoWhereTheyDoNot) {
  EXPECT_EQ(descriptor_warning(1024, 100'000),
            "the limit of open files is 1024, so about 960 connections are possible and not "
            "Limits::connections (100000): raise it (ulimit -Hn, systemd's LimitNOFILE=) or lower "
            "Limits::connections");
  EXPECT_NE(descriptor_warning(10, 100).find("about 0 connections"), std::string::npos);
}

}  // namespace
}  // namespace leantea::server
