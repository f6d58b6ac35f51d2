// Which route answers which request. Routes are written as in a program, "GET /users/{id}", and what a
// request finds as the route and its parameters.
#include "app/route_table.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/route_pattern.hpp"

namespace leantea::app {
namespace {

std::unique_ptr<Route> route(std::string_view method, std::string_view pattern) {
  return std::make_unique<Route>(std::string(pattern), *method_from(method),
                                 [](Request&) { return Response{}; });
}

std::vector<std::unique_ptr<Route>> routes(const std::vector<std::string>& lines) {
  std::vector<std::unique_ptr<Route>> made;
  for (const std::string& line : lines) {
    const std::size_t space = line.find(' ');
    made.push_back(route(line.substr(0, space), std::string_view(line).substr(space + 1)));
  }
  return made;
}

std::string name_of(const Route& route) {
  return std::string(to_string(RouterAccess::method(route))) + ' ' + RouterAccess::pattern(route);
}

/// Routes and what they answer.
class Table {
 public:
  explicit Table(const std::vector<std::string>& lines) : table_(routes(lines)) {}

  /// "GET /users/{id} id=7", "405 GET, HEAD, OPTIONS" or "404".
  std::string answer(std::string_view method, std::string_view path) const {
    PathParams params;
    const auto match = table_.match(*method_from(method), path, params);
    if (match.route == nullptr)
      return match.allowed == 0 ? "404" : "405 " + allow_value(match.allowed);
    EXPECT_EQ(match.allowed, 0);
    std::string text = name_of(*match.route);
    for (std::size_t i = 0; i < params.count; ++i) {
      const std::string_view name = params.items[i].name;
      const std::string_view value = params.items[i].value;
      text.append(" ").append(name).append("=").append(value);
      const bool is_view_of_path =
          value.empty() ||
          (value.data() >= path.data() && value.data() + value.size() <= path.data() + path.size());
      EXPECT_TRUE(is_view_of_path);
    }
    return text;
  }
  std::string get(std::string_view path) const { return answer("GET", path); }

 private:
  RouteTable table_;
};

TEST(RouteTable, WithoutRoutesHasNothing) {
  const Table table({});
  EXPECT_EQ(table.get("/"), "404");
  EXPECT_EQ(table.get(""), "404");
  EXPECT_EQ(table.answer("OPTIONS", "*"), "404");
}

TEST(RouteTable, LiteralsMatchThemselvesOnly) {
  const Table table({"GET /", "GET /health", "GET /a/b", "GET /a/b/", "GET /a//b"});
  EXPECT_EQ(table.get("/"), "GET /");
  EXPECT_EQ(table.get("/health"), "GET /health");
  EXPECT_EQ(table.get("/a/b"), "GET /a/b");
  EXPECT_EQ(table.get("/a/b/"), "GET /a/b/");
  EXPECT_EQ(table.get("/a//b"), "GET /a//b");
  EXPECT_EQ(table.get("/health/"), "404");
  EXPECT_EQ(table.get("/Health"), "404");
  EXPECT_EQ(table.get("/a"), "404");
}

TEST(RouteTable, AParameterIsOneSegmentThatIsNotEmpty) {
  const Table table({"GET /users/{id}", "GET /users/{id}/posts/{post}"});
  EXPECT_EQ(table.get("/users/7"), "GET /users/{id} id=7");
  EXPECT_EQ(table.get("/users/7/posts/9"), "GET /users/{id}/posts/{post} id=7 post=9");
  EXPECT_EQ(table.get("/users/a%2Fb"), "GET /users/{id} id=a%2Fb");
  EXPECT_EQ(table.get("/users/"), "404");
  EXPECT_EQ(table.get("/users"), "404");
  EXPECT_EQ(table.get("/users/7/"), "404");
  EXPECT_EQ(table.get("/users//posts/9"), "404");
}

TEST(RouteTable, TheRestIsAnyNumberOfSegmentsAlsoNone) {
  const Table table({"GET /files/{path...}"});
  EXPECT_EQ(table.get("/files/a"), "GET /files/{path...} path=a");
  EXPECT_EQ(table.get("/files/a/b.txt"), "GET /files/{path...} path=a/b.txt");
  EXPECT_EQ(table.get("/files/a/"), "GET /files/{path...} path=a/");
  EXPECT_EQ(table.get("/files/"), "GET /files/{path...} path=");
  EXPECT_EQ(table.get("/files"), "GET /files/{path...} path=");
  EXPECT_EQ(table.get("/filesystem"), "404");
}

TEST(RouteTable, LiteralsWinOverParametersAndThoseOverTheRest) {
  const Table table({"GET /{rest...}", "GET /users/{id}", "GET /users/me", "GET /{kind}/me"});
  EXPECT_EQ(table.get("/users/me"), "GET /users/me");
  EXPECT_EQ(table.get("/users/7"), "GET /users/{id} id=7");
  EXPECT_EQ(table.get("/groups/me"), "GET /{kind}/me kind=groups");
  EXPECT_EQ(table.get("/groups/7"), "GET /{rest...} rest=groups/7");
  EXPECT_EQ(table.get("/"), "GET /{rest...} rest=");
}

TEST(RouteTable, TheLiteralThatComesFirstFromTheLeftDecides) {
  const Table table({"GET /a/{x}/c", "GET /{y}/b/c"});
  EXPECT_EQ(table.get("/a/b/c"), "GET /a/{x}/c x=b");
}

TEST(RouteTable, AWayThatLeadsNowhereIsGivenUp) {
  const Table table({"GET /a/b/c", "GET /a/{x}/d", "GET /{y}/b/e", "GET /a/{rest...}"});
  EXPECT_EQ(table.get("/a/b/d"), "GET /a/{x}/d x=b");
  EXPECT_EQ(table.get("/q/b/e"), "GET /{y}/b/e y=q");
  EXPECT_EQ(table.get("/a/b/f"), "GET /a/{rest...} rest=b/f");
  EXPECT_EQ(table.get("/q/b/f"), "404");
}

TEST(RouteTable, APatternWithoutTheMethodLeavesItToTheNext) {
  const Table table({"POST /users/me", "GET /users/{id}", "DELETE /users/{rest...}"});
  EXPECT_EQ(table.get("/users/me"), "GET /users/{id} id=me");
  EXPECT_EQ(table.answer("DELETE", "/users/me"), "DELETE /users/{rest...} rest=me");
  EXPECT_EQ(table.answer("PUT", "/users/me"), "405 GET, HEAD, POST, DELETE, OPTIONS");
}

TEST(RouteTable, HeadFallsBackToGet) {
  const Table table({"GET /a", "GET /b", "HEAD /b", "HEAD /c", "GET /c", "GET /users/{id}"});
  EXPECT_EQ(table.answer("HEAD", "/a"), "GET /a");
  EXPECT_EQ(table.answer("HEAD", "/b"), "HEAD /b");
  EXPECT_EQ(table.answer("HEAD", "/c"), "HEAD /c");
  EXPECT_EQ(table.get("/c"), "GET /c");
  EXPECT_EQ(table.answer("HEAD", "/users/7"), "GET /users/{id} id=7");
}

TEST(RouteTable, TellsWhichMethodsAPathHas) {
  const Table table({"GET /a", "POST /a", "PUT /b", "PATCH /users/{id}"});
  EXPECT_EQ(table.answer("DELETE", "/a"), "405 GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(table.get("/b"), "405 PUT, OPTIONS");
  EXPECT_EQ(table.answer("HEAD", "/b"), "405 PUT, OPTIONS");
  EXPECT_EQ(table.answer("OPTIONS", "/users/7"), "405 OPTIONS, PATCH");
  EXPECT_EQ(table.answer("CONNECT", "/a"), "405 GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(table.get("/users"), "404");
}

TEST(RouteTable, AsteriskAndAuthorityMatchNoPattern) {
  const Table table({"OPTIONS /{rest...}", "GET /{rest...}"});
  EXPECT_EQ(table.answer("OPTIONS", "*"), "404");
  EXPECT_EQ(table.answer("CONNECT", ""), "404");
}

TEST(RouteTable, ParametersAreNamedByTheirOwnRoute) {
  const Table table({"GET /users/{id}", "PUT /users/{user}", "GET /users/{name}/posts"});
  EXPECT_EQ(table.get("/users/7"), "GET /users/{id} id=7");
  EXPECT_EQ(table.answer("PUT", "/users/7"), "PUT /users/{user} user=7");
  EXPECT_EQ(table.get("/users/7/posts"), "GET /users/{name}/posts name=7");
}

TEST(RouteTable, TakesAsManyParametersAsThereIsRoomFor) {
  const Table table({"GET /{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h...}", "GET /{a}/{b}/x"});
  EXPECT_EQ(table.get("/1/2/3/4/5/6/7/8/9"),
            "GET /{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h...} a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8/9");
}

// ---- Against a matcher that knows nothing but the rules ----

using Words = std::vector<std::string>;

Words words_of(std::string_view path) {
  Words words;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    words.emplace_back(path.substr(1, end - 1));
    path.remove_prefix(end);
  }
  return words;
}

bool matches(const RoutePattern& pattern, const Words& words) {
  using Kind = PatternSegment::Kind;
  for (std::size_t i = 0; i < pattern.segments.size(); ++i) {
    const PatternSegment& segment = pattern.segments[i];
    if (segment.kind == Kind::kRest) return true;
    if (i == words.size()) return false;
    if (segment.kind == Kind::kLiteral ? words[i] != segment.text : words[i].empty()) return false;
  }
  return pattern.segments.size() == words.size();
}

/// Smaller is better: for each segment whether it is a literal, a parameter or the rest; where one
/// pattern ends before the other, that has only the rest left, which is worse than an end.
std::string rank(const RoutePattern& pattern) {
  std::string rank;
  for (const PatternSegment& segment : pattern.segments)
    rank += static_cast<char>('1' + static_cast<int>(segment.kind));
  return rank;
}

std::string naive(const std::vector<std::string>& lines, std::string_view method,
                  std::string_view path) {
  const Words words = words_of(path);
  std::string best;
  std::string best_rank;
  bool known = false;
  for (const std::string& line : lines) {
    const std::size_t space = line.find(' ');
    const RoutePattern pattern = *parse_route_pattern(std::string_view(line).substr(space + 1));
    if (!matches(pattern, words)) continue;
    known = true;
    if (line.substr(0, space) != method) continue;
    const std::string own_rank = rank(pattern);
    if (!best.empty() && best_rank <= own_rank) continue;
    best = line;
    best_rank = own_rank;
  }
  if (!best.empty()) return best;
  return known ? "405" : "404";
}

TEST(RouteTable, EqualsANaiveMatcherOnRandomRoutes) {
  std::mt19937 random(1);
  const auto one_of = [&random](const auto& choices) { return choices[random() % choices.size()]; };
  const std::array<std::string, 3> methods = {"GET", "PUT", "DELETE"};
  const std::array<std::string, 5> segments = {"a", "b", "{}", "{}", ""};
  const std::array<std::string, 4> words = {"a", "b", "c", ""};
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> lines;
    for (int i = 0; i < 12; ++i) {
      std::string line = one_of(methods) + ' ';
      const std::size_t count = 1 + random() % 4;
      for (std::size_t k = 0; k < count; ++k) {
        std::string segment = one_of(segments);
        if (segment == "{}") segment = "{p" + std::to_string(k) + '}';
        line += '/' + segment;
      }
      if (random() % 4 == 0) line += "/{rest...}";
      lines.push_back(line);
      if (!RouteTable::problems(routes(lines)).empty()) lines.pop_back();  // there already
    }
    const Table table(lines);
    for (int i = 0; i < 100; ++i) {
      std::string path;
      for (std::size_t count = 1 + random() % 5; count > 0; --count) path += '/' + one_of(words);
      const std::string method = one_of(methods);
      const std::string wanted = naive(lines, method, path);
      // The parameters' values are checked above; here it is about which route.
      const std::string found = table.answer(method, path);
      ASSERT_EQ(found.substr(0, wanted.size()), wanted) << method << ' ' << path << '\n'
                                                        << testing::PrintToString(lines);
    }
  }
}

// ---- Problems ----

std::string problems(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& problem : RouteTable::problems(routes(lines))) {
    if (!all.empty()) all += '\n';
    all += problem;
  }
  return all;
}

TEST(Problems, AreNoneWhereAllIsWell) {
  EXPECT_EQ(problems({}), "");
  EXPECT_EQ(problems({"GET /", "POST /", "HEAD /", "GET /a", "GET /{a}", "GET /{a...}", "PUT /{b}",
                      "OPTIONS /a"}),
            "");
}

TEST(Problems, NameTheRouteAndSayWhatToChange) {
  EXPECT_EQ(problems({"GET health"}),
            "the route GET \"health\" does not begin with '/': write \"/health\"");
  EXPECT_EQ(problems({"GET /a", "POST /{x}/{x}"}),
            "the route POST \"/{x}/{x}\" has the parameter {x} twice: give each a name of its own");
}

TEST(Problems, TheSameRouteTwice) {
  EXPECT_EQ(problems({"GET /a", "POST /a", "GET /a"}),
            "the route GET \"/a\" is there twice: remove one of them");
  EXPECT_EQ(problems({"GET /users/{id}", "GET /users/{name}"}),
            "the route GET \"/users/{name}\" matches the same paths as GET \"/users/{id}\": only "
            "the parameters' names differ, remove one of them");
}

TEST(Problems, MethodsThatAreNotServed) {
  EXPECT_EQ(problems({"TRACE /a"}),
            "the route TRACE \"/a\" can never be reached: TRACE is not served, remove the route");
  EXPECT_EQ(problems({"CONNECT /a"}),
            "the route CONNECT \"/a\" can never be reached: CONNECT is not served, remove the "
            "route");
}

TEST(Problems, TimeoutsOfARoute) {
  auto made = routes({"GET /a"});
  made[0]->limits({.handler_timeout = std::chrono::milliseconds(-1)});
  ASSERT_EQ(RouteTable::problems(made).size(), 1u);
  EXPECT_EQ(RouteTable::problems(made)[0],
            "the route GET \"/a\" has a negative handler_timeout: use 0 to turn it off");
}

TEST(Problems, AllOfThemAreListed) {
  EXPECT_EQ(RouteTable::problems(routes({"GET a", "GET /{", "GET /b", "GET /b"})).size(), 3u);
}

TEST(AllowValue, ListsMethodsInAFixedOrder) {
  EXPECT_EQ(allow_value(0), "");
  EXPECT_EQ(allow_value(0x1ff), "GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE, PATCH");
}

}  // namespace
}  // namespace leantea::app
