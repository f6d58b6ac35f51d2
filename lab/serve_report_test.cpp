#include "serve_report.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <leantea/leantea.hpp>
#include <leantea/test.hpp>

#include "failure.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPage =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
    "'sha256-x'\"><p>the page";

/// A site with a page, a file beside it, and things that nobody shall see.
class ServeReport : public testing::Test {
 protected:
  ServeReport() {
    fs::create_directories(folder_.path() + "/site/bench/.git");
    write("site/bench/index.html", kPage);
    write("site/bench/data.json", "{}");
    write("site/bench/.git/config", "secret");
    write("site/secret.txt", "secret");
    fs::create_symlink("../secret.txt", folder_.path() + "/site/bench/link.txt");
  }

  void write(std::string_view name, std::string_view text) const {
    std::ofstream(folder_.path() + "/" + std::string(name), std::ios::binary) << text;
  }
  fs::path site() const { return folder_.path() + "/site"; }
  test::Answer get(std::string_view target, const test::Options& options = {}) const {
    return test::call(site_router(site()), "GET", target, options);
  }

  TemporaryDirectory folder_;
};

TEST_F(ServeReport, GivesThePageWithItsOwnSecurityPolicy) {
  const test::Answer answer = get("/bench/");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, kPage);
  EXPECT_EQ(answer.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(answer.header("Content-Security-Policy"),
            "default-src 'none'; script-src 'sha256-x'; frame-ancestors 'none'");
  EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
}

TEST_F(ServeReport, GivesOtherFilesTheirTypeAndLetsThemLoadNothing) {
  const test::Answer answer = get("/bench/data.json");
  EXPECT_EQ(answer.header("Content-Type"), "application/json");
  EXPECT_EQ(answer.header("Content-Security-Policy"), "default-src 'none'; frame-ancestors 'none'");
}

TEST_F(ServeReport, LeadsToThePage) {
  for (const std::string_view target : {"/", "/bench"}) {
    const test::Answer answer = get(target);
    EXPECT_EQ(answer.status, 302) << target;
    EXPECT_EQ(answer.header("Location"), "/bench/") << target;
  }
}

TEST_F(ServeReport, DoesNotSendAgainWhatTheBrowserHas) {
  const std::string tag(get("/bench/").header("ETag").value_or(""));
  for (const std::string& known : {tag, "\"other\", W/" + tag, std::string("*")}) {
    const test::Answer answer = get("/bench/", {.headers = {{"If-None-Match", known}}});
    EXPECT_EQ(answer.status, 304) << known;
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(answer.header("ETag"), tag);
  }
  write("site/bench/index.html", "<p>another page");
  EXPECT_EQ(get("/bench/", {.headers = {{"If-None-Match", tag}}}).body, "<p>another page");
}

TEST_F(ServeReport, AnswersHeadWithoutThePage) {
  const test::Answer answer = test::call(site_router(site()), "HEAD", "/bench/");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(answer.header("Content-Length"), std::to_string(kPage.size()));
}

TEST_F(ServeReport, ShowsNothingButTheFilesOfItsFolder) {
  for (const std::string_view target :
       {"/bench/../secret.txt", "/bench/%2e%2e/secret.txt", "/bench/..%2fsecret.txt",
        "/bench//etc/passwd", "/bench/link.txt", "/bench/.git/config", "/bench/.git/",
        "/secret.txt", "/bench/nothing", "/bench/index.html/", "/bench/index.html%00"}) {
    const test::Answer answer = get(target);
    EXPECT_GE(answer.status, 400) << target;
    EXPECT_EQ(answer.body.find("secret"), std::string::npos) << target;
  }
}

TEST_F(ServeReport, WithoutAPageSaysHowToMakeIt) {
  fs::remove(site() / "bench/index.html");
  try {
    serve_report({.site = site().string()});
    FAIL() << "it served";
  } catch (const Failure& failure) {
    EXPECT_EQ(std::string(failure.what()),
              "there is no page " + (site() / "bench/index.html").string() +
                  ": ./dev report makes it, --site names another folder");
  }
}

TEST_F(ServeReport, OnAPortInUseSaysSo) {
  Server other(Router{}, {.port = 0});
  ASSERT_TRUE(other.start());
  try {
    serve_report({.port = other.port(), .site = site().string()});
    FAIL() << "it served";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("in use"), std::string::npos) << failure.what();
  }
}

}  // namespace
}  // namespace leantea::lab
