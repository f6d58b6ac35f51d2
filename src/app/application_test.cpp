#include "app/application.hpp"

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace leantea::app {
namespace {

Router router_with(std::string_view pattern) {
  Router router;
  router.get(pattern, [](Request&) { return Response{}; });
  return router;
}

TEST(Application, HasTheRoutesOfItsRouter) {
  const Application application(router_with("/a"), {});
  PathParams params;
  EXPECT_NE(application.routes().match(Method::kGet, "/a", params).route, nullptr);
  EXPECT_EQ(application.not_found(), nullptr);
}

TEST(Application, HasTheHandlerForWhatIsNotFound) {
  Router router = router_with("/a");
  router.not_found([](Request&) { return Response{}; });
  const Application application(std::move(router), {});
  EXPECT_NE(application.not_found(), nullptr);
}

TEST(Application, GivesLinesToTheLogAsTheyAre) {
  std::vector<std::string> lines;
  const Application application({}, [&lines](std::string_view line) { lines.emplace_back(line); });
  application.log("one");
  application.log("two");
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two"}));
}

TEST(Application, ALogThatThrowsHarmsNobody) {
  const Application application({}, [](std::string_view) { throw std::runtime_error("full"); });
  application.log("one");
}

TEST(Application, WritesWholeLinesToStandardErrorFromAllThreads) {
  constexpr int kLines = 200;
  const Application application({}, {});
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (const char letter : {'a', 'b', 'c'}) {
    threads.emplace_back([&application, letter] {
      for (int i = 0; i < kLines; ++i) application.log(std::string(50, letter));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string written = testing::internal::GetCapturedStderr();
  const std::string prefix = "leantea: ";
  const std::size_t line_size = prefix.size() + 50 + 1;
  ASSERT_EQ(written.size(), 3 * kLines * line_size);
  for (std::size_t at = 0; at < written.size(); at += line_size)
    ASSERT_EQ(written.substr(at, line_size),
              prefix + std::string(50, written[at + prefix.size()]) + '\n');
}

}  // namespace
}  // namespace leantea::app
