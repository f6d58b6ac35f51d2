// What a request does not have is an empty view, which often points nowhere: a handler that answers with its query, its
// body or a field was thus led to copy no bytes from a null pointer. That is undefined (memcpy's arguments are never
// null), so compilers may take the view for one that is not null, and UBSan ended the server.
//
// The undefined sanitizer sees the fault; without it this still holds what such answers are.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <leantea/leantea.hpp>
#include <leantea/test.hpp>

#include "base/output_queue.hpp"
#include "h1/chunked_decoder.hpp"
#include "h1/head_parser.hpp"
#include "http/target.hpp"

namespace leantea {
namespace {

TEST(EmptyViews, OfARequestCanBeAnswered) {
  Router router;
  router.post("/body", [](const Request& r) { return Response::bytes(r.body()); });
  router.post("/query", [](const Request& r) { return Response::text(r.query()); });
  router.post("/field", [](const Request& r) {
    return Response::text("").header("X-Was", r.header("X-Not-There").value_or(std::string_view{}));
  });
  router.post("/borrowed", [](const Request& r) {
    return Response::bytes(Content::borrowed(r.body())).header("X-Query", r.query());
  });
  router.post("/later", [](Request& r) -> Task<Response> {
    co_return Response::bytes(r.query()).header("X-Query", r.query());
  });
  router.post("/stream", [](const Request&) {
    return Response::stream("", [](Writer& out) -> Task<> { co_await out.write({}); });
  });
  test::App app(std::move(router));
  for (const std::string_view path :
       {"/body", "/query", "/field", "/borrowed", "/later", "/stream"}) {
    const test::Answer answer = app.call("POST", path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.body, "") << path;
  }
}

TEST(EmptyViews, AreEmptyFieldsAndBodies) {
  constexpr std::string_view kNowhere;
  Response response = Response::bytes(kNowhere).header("X-Empty", kNowhere);
  EXPECT_EQ(response.find_header("X-Empty"), "");
  EXPECT_EQ(response.body(), "");
  // Also behind fields that are too long to be held in place.
  response.header("X-Long", std::string(1000, 'l')).header("X-Last", kNowhere);
  EXPECT_EQ(response.find_header("X-Last"), "");
  EXPECT_FALSE(response.add_header(kNowhere, "value"));
}

TEST(EmptyViews, AreTakenByParsersAndQueues) {
  std::string_view nowhere;
  const Limits limits;
  std::vector<http::FieldPlace> fields(limits.header_count);
  http::RequestHead head;
  head.fields = fields.data();
  head.field_capacity = static_cast<std::uint16_t>(fields.size());
  EXPECT_EQ(h1::parse_head(nowhere, limits, head).kind, h1::HeadResult::Kind::kIncomplete);
  std::string trailers;
  EXPECT_EQ(h1::ChunkedDecoder{}.next(nowhere, limits, trailers).kind,
            h1::DecodeStep::Kind::kNeedMore);
  EXPECT_TRUE(http::HostCheck{}.valid(nowhere));
  EXPECT_FALSE(http::valid_host(nowhere, false));
  EXPECT_FALSE(http::resolve_target(Method::kGet, nowhere, nullptr, 0));

  base::BlockPool pool;
  base::OutputQueue queue;
  queue.append(pool, nowhere);
  queue.append_shared(nullptr, nowhere);
  EXPECT_TRUE(queue.empty());
  queue.clear(pool);
}

}  // namespace
}  // namespace leantea
