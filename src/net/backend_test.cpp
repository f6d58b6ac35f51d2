// Which backends there are, and what is said about those that are not.
#include "net/backend.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <leantea/leantea.hpp>

#include "app/application.hpp"
#include "app/worker_pool.hpp"

namespace leantea::net {
namespace {

class Backends : public testing::Test {
 protected:
  auto make(std::string_view name) { return make_backend(name, shared_, {.loops = 1}); }

 private:
  const Limits limits_;
  app::Application application_{Router{}, {}};
  app::WorkerPool workers_{1};
  app::ServerShared shared_{application_, limits_, workers_};
};

bool is_built(std::string_view name) { return std::ranges::count(backend_names(), name) != 0; }

TEST_F(Backends, TheDefaultIsTheReactor) { EXPECT_EQ(backend_names().front(), "reactor"); }

TEST_F(Backends, EveryNameMakesTheBackendOfThatName) {
  for (const std::string_view name : backend_names()) {
    const auto backend = make(name);
    // io_uring may be built and yet forbidden here; then the message names the way out.
    if (!backend && name == "uring") {
      EXPECT_NE(backend.error().find("\"auto\""), std::string::npos) << backend.error();
      continue;
    }
    ASSERT_TRUE(backend.has_value()) << backend.error();
    EXPECT_EQ((*backend)->name(), name);
  }
}

TEST_F(Backends, AutoIsUringWhereItWorksAndTheReactorElsewhere) {
  const auto backend = make("auto");
  ASSERT_TRUE(backend.has_value()) << backend.error();
  const bool uring = is_built("uring") && make("uring").has_value();
  EXPECT_EQ((*backend)->name(), uring ? "uring" : "reactor");
}

TEST_F(Backends, AnUnknownNameListsTheKnownOnes) {
  const auto backend = make("epoll");
  ASSERT_FALSE(backend.has_value());
  EXPECT_NE(backend.error().find("there is no backend \"epoll\": choose one of reactor, "),
            std::string::npos)
      << backend.error();
}

TEST_F(Backends, OneThatIsNotBuiltNamesItsPackage) {
  const struct {
    std::string_view name;
    std::string_view package;
  } optional[] = {{"uring", "liburing-dev"}, {"libuv", "libuv1-dev"}};
  for (const auto& each : optional) {
    if (is_built(each.name)) continue;
    const auto backend = make(each.name);
    ASSERT_FALSE(backend.has_value());
    EXPECT_NE(backend.error().find("apt-get install " + std::string(each.package)),
              std::string::npos)
        << backend.error();
  }
}

}  // namespace
}  // namespace leantea::net
