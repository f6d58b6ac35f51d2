// The server that is measured: a few routes, and every flag that matters for a measurement.
//
//   GET /health          "OK", the least that a server can do
//   GET /json            a small document, serialised for every request
//   POST /echo           the content back
//   GET, POST /sum?a&b   the sum of the query's integers and of the one in the content, if there is content
//
// Written with the public API, CLI11 for the flags and RapidJSON for the document. An error in the flags
// or at start is one line on standard error and exit code 2.
#if defined(__SSE4_2__)
#define RAPIDJSON_SSE42
#elif defined(__SSE2__)
#define RAPIDJSON_SSE2
#endif

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <CLI/CLI.hpp>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <leantea/leantea.hpp>

namespace {

using namespace leantea;

// ---- The document ----

struct Report {
  bool ok = true;
  std::string_view service = "leantea/bench";
  std::string_view build = "release";
  int count = 42;
  std::array<std::string_view, 2> tags = {"bench", "cpp"};

  /// Shows every member with its name, a literal that needs no escaping.
  template <class Visitor>
  void visit(Visitor member) const {
    member("ok", ok);
    member("service", service);
    member("build", build);
    member("count", count);
    member("tags", tags);
  }
};

/// True when JSON text may hold none of these eight characters as they are (RFC 8259 §7).
constexpr bool has_to_escape(std::uint64_t eight) {
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
  const auto below = [](std::uint64_t bytes, std::uint64_t bound) {
    return (bytes - kOnes * bound) & ~bytes;  // the top bit of a byte that is less
  };
  const std::uint64_t marked =
      below(eight, ' ') | below(eight ^ kOnes * '"', 1) | below(eight ^ kOnes * '\\', 1);
  return (marked & kOnes * 0x80) != 0;
}

template <class Word>
std::uint64_t load(const char* from) {
  Word word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

bool is_plain(std::string_view text) {
  const char* const end = text.data() + text.size();
  if (text.size() >= 8) {
    bool escape = has_to_escape(load<std::uint64_t>(end - 8));
    for (const char* p = text.data(); end - p > 8; p += 8)
      escape |= has_to_escape(load<std::uint64_t>(p));
    return !escape;
  }
  if (text.size() >= 4)
    return !has_to_escape(load<std::uint32_t>(text.data()) | load<std::uint32_t>(end - 4) << 32);
  if (text.empty()) return true;
  const auto byte = [](char c) { return std::uint64_t{static_cast<unsigned char>(c)}; };
  constexpr std::uint64_t kSpaces = 0x2020'2020'2000'0000;  // where no byte is
  return !has_to_escape(byte(text.front()) | byte(text[text.size() / 2]) << 8 |
                        byte(text.back()) << 16 | kSpaces);
}

/// RapidJSON's writer, with a short cut for texts in which nothing needs escaping, as in most: they are
/// copied at once and not byte by byte.
class JsonWriter : public rapidjson::Writer<rapidjson::StringBuffer> {
 public:
  void text(std::string_view text) {
    if (!is_plain(text)) [[unlikely]] {
      String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
      return;
    }
    put_plain(text.data(), text.size());
  }
  /// A member's name; its size is known to the compiler, so this is a few moves.
  template <std::size_t kSize>
  void name(const char (&literal)[kSize]) {
    put_plain(literal, kSize - 1);
  }

 private:
  [[gnu::always_inline]] void put_plain(const char* text, std::size_t size) {
    Prefix(rapidjson::kStringType);
    char* const out = os_->Push(size + 2);
    out[0] = '"';
    std::memcpy(out + 1, text, size);
    out[size + 1] = '"';
  }
};

/// Writes a value: booleans, integers, texts, ranges of values, and structs that have a visit().
template <class Value>
void write_json(JsonWriter& out, const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    out.Bool(value);
  } else if constexpr (std::integral<Value>) {
    out.Int64(value);
  } else if constexpr (std::convertible_to<const Value&, std::string_view>) {
    out.text(value);
  } else if constexpr (std::ranges::range<Value>) {
    out.StartArray();
    for (const auto& element : value) write_json(out, element);
    out.EndArray();
  } else {
    out.StartObject();
    value.visit([&out](const auto& name, const auto& member) {
      out.name(name);
      write_json(out, member);
    });
    out.EndObject();
  }
}

/// The value as JSON text, in a buffer of this thread: valid until the next call on it.
template <class Value>
std::string_view json_text(const Value& value) {
  thread_local rapidjson::StringBuffer buffer;
  thread_local JsonWriter writer;
  buffer.Clear();
  writer.Reset(buffer);
  write_json(writer, value);
  return {buffer.GetString(), buffer.GetSize()};
}

// ---- The routes ----

// What a build that is slower by a known time is made with: the lab checks with it that it sees such a difference.
#ifndef LEANTEA_BENCH_SLOWED_NS
#define LEANTEA_BENCH_SLOWED_NS 0
#endif

void be_slow() {
  if constexpr (LEANTEA_BENCH_SLOWED_NS > 0) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::nanoseconds(LEANTEA_BENCH_SLOWED_NS);
    while (Clock::now() < end) {
    }
  }
}

Response health(const Request&) {
  be_slow();
  return Response::text("OK");
}

/// Flattened, because RapidJSON's many small functions are called too often for the compiler to inline them,
/// and the calls are a third of the work.
[[gnu::flatten]] Response json(const Request&) {
  return Response::json(Content::borrowed(json_text(Report{})));
}

Response echo(Request& r) { return Response::bytes(r.take_body()); }

/// The integer that is the whole of `text`, or nothing.
std::optional<std::int64_t> integer_in(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stopped == end ? std::optional(value) : std::nullopt;
}

Response sum(const Request& r) {
  std::int64_t total = 0;
  const auto add = [&total](std::string_view text) {
    const auto value = integer_in(text);
    return value && !__builtin_add_overflow(total, *value, &total);
  };
  const bool good = add(r.query_param("a").value_or("")) && add(r.query_param("b").value_or("")) &&
                    (r.body().empty() || add(r.body()));
  if (!good) {
    return Response::text("a, b and the content have to be integers\n")
        .set_status(Status::kBadRequest);
  }
  return Response::text(std::to_string(total));
}

constexpr std::string_view kRoutes =
    "  GET  /health  OK as text/plain\n"
    "  GET  /json    a document as application/json\n"
    "  POST /echo    the content back as application/octet-stream\n"
    "  GET, POST /sum?a=1&b=2  the sum of these and of an integer in the content, as text/plain\n";

Router make_router() {
  Router app;
  app.get("/health", health);
  app.get("/json", json);
  app.post("/echo", echo);
  app.get("/sum", sum);
  app.post("/sum", sum);
  return app;
}

// ---- The flags ----

/// A whole number within bounds; the message says both.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return {[least, most](const std::string& text) -> std::string {
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [stopped, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc{} && stopped == end && value >= least && value <= most)
              return {};
            return '"' + text + "\" is not a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most);
          },
          "N"};
}

constexpr double kMostSeconds = 1e6;

CLI::Validator seconds() {
  return {[](const std::string& text) -> std::string {
            double value = 0;
            const char* const end = text.data() + text.size();
            const auto [stopped, error] = std::from_chars(text.data(), end, value);
            if (error == std::errc{} && stopped == end && value >= 0 && value <= kMostSeconds)
              return {};
            return '"' + text + "\" is not a number of seconds from 0 to 1000000";
          },
          "SECONDS"};
}

/// What the command line says, before it becomes ServerOptions.
struct Flags {
  std::string host;
  std::uint16_t port = 0;
  std::vector<std::string> addresses;
  std::string backend;
  bool reactor = false;
  unsigned fast = 0;
  unsigned threads = 0;
  double head_timeout = 0;
  double body_timeout = 0;
  double idle_timeout = 0;
  std::uint32_t max_connections = 0;
  unsigned workers = 0;
  bool no_keep_alive = false;
  bool list_backends = false;
};

void add_flags(CLI::App& cli, Flags& flags) {
  constexpr std::uint64_t kMostLoops = 1024;
  cli.set_version_flag("--version", "bench_server (LeanTea) " + std::string(kVersion));
  cli.add_option("--host", flags.host,
                 "Where to listen: a name or an address; empty for all [127.0.0.1]");
  cli.add_option("--port", flags.port, "Which port; 0 takes a free one [8080]")
      ->check(whole_number(0, 65535));
  cli.add_option("--address", flags.addresses,
                 "HOST:PORT, [IPV6]:PORT, :PORT, unix:/PATH or systemd; may be repeated");
  cli.add_flag("--reactor", flags.reactor,
               "The backend \"reactor\", also when the environment says another");
  cli.add_option("--fast", flags.fast, "The backend \"threads\" with N accept workers")
      ->check(whole_number(1, kMostLoops));
  cli.add_option("--backend", flags.backend, "NAME or NAME:N, see --list-backends");
  cli.add_flag("--list-backends", flags.list_backends, "Print the backends of this build and exit");
  cli.add_option("--threads", flags.threads, "Event loops [1]")->check(whole_number(1, kMostLoops));
  cli.add_option("--workers", flags.workers, "Threads for offloaded work; 0: one per processor [0]")
      ->check(whole_number(0, kMostLoops));
  cli.add_option("--max-connections", flags.max_connections, "Connections at once [100000]")
      ->check(whole_number(1, UINT32_MAX));
  cli.add_flag("--no-keep-alive", flags.no_keep_alive,
               "Close every connection after its first answer");
  cli.add_option("--head-timeout", flags.head_timeout, "For a request's head; 0: none [10]")
      ->check(seconds());
  cli.add_option("--body-timeout", flags.body_timeout, "Between two reads of a body; 0: none [20]")
      ->check(seconds());
  cli.add_option("--idle-timeout", flags.idle_timeout, "Between two requests; 0: none [60]")
      ->check(seconds());
}

bool given(const CLI::App& cli, const std::string& flag) { return cli.count(flag) > 0; }

/// What two flags contradict each other in, or nothing.
std::string contradiction(const CLI::App& cli, const Flags& flags) {
  struct Pair {
    const char* one;
    const char* other;
  };
  constexpr std::array<Pair, 6> kContradict = {{{"--reactor", "--fast"},
                                                {"--reactor", "--backend"},
                                                {"--fast", "--backend"},
                                                {"--fast", "--threads"},
                                                {"--address", "--host"},
                                                {"--address", "--port"}}};
  for (const auto& [one, other] : kContradict) {
    if (given(cli, one) && given(cli, other))
      return std::string(one) + " and " + other + " contradict each other: give one of them";
  }
  if (given(cli, "--threads") && flags.backend.find(':') != std::string::npos)
    return "--threads and the number in --backend contradict each other: give one of them";
  return {};
}

/// Left in the environment and not copied into the flags, so that a mistake in it is said to be there.
void forget_loops_of_environment() {
  constexpr const char* kVariable = "LEANTEA_HTTP_BACKEND";
  const char* const value = std::getenv(kVariable);
  if (value == nullptr) return;
  const std::string name(value);
  ::setenv(kVariable, name.substr(0, name.find(':')).c_str(), /*replace=*/1);
}

/// Flags win over the environment, so --threads also wins over the number in there.
std::string chosen_backend(const CLI::App& cli, const Flags& flags) {
  if (flags.reactor) return "reactor";
  if (given(cli, "--fast")) return "fast:" + std::to_string(flags.fast);
  if (!given(cli, "--backend") && given(cli, "--threads")) forget_loops_of_environment();
  return flags.backend;
}

/// Rounded up, so that a short timeout does not become none.
std::chrono::milliseconds milliseconds(double seconds) {
  constexpr double kPerSecond = 1000;
  return std::chrono::milliseconds(std::llround(std::ceil(seconds * kPerSecond)));
}

void say_where(const Server& server) {
  for (const std::string& address : server.addresses()) {
    const bool tcp = !address.starts_with("unix:");
    std::printf("listening on %s%s\n", tcp ? "http://" : "", address.c_str());
  }
  std::printf("%s", kRoutes.data());
  std::printf("backend %s, %u loop%s\n", std::string(server.backend()).c_str(), server.loops(),
              server.loops() == 1 ? "" : "s");
  if (std::fflush(stdout) != 0)
    std::perror("bench_server: it serves, but cannot write to the standard output");
}

ServerOptions options_from(const CLI::App& cli, const Flags& flags) {
  ServerOptions options;
  if (given(cli, "--host")) options.host = flags.host;
  if (given(cli, "--port")) options.port = flags.port;
  options.addresses = flags.addresses;
  options.backend = chosen_backend(cli, flags);
  if (given(cli, "--threads")) options.threads = flags.threads;
  options.workers = flags.workers;
  Limits& limits = options.limits;
  if (given(cli, "--max-connections")) limits.connections = flags.max_connections;
  if (flags.no_keep_alive) limits.requests_per_connection = 1;
  if (given(cli, "--head-timeout")) limits.head_timeout = milliseconds(flags.head_timeout);
  if (given(cli, "--body-timeout")) limits.body_timeout = milliseconds(flags.body_timeout);
  if (given(cli, "--idle-timeout")) limits.idle_timeout = milliseconds(flags.idle_timeout);
  options.on_start = say_where;
  return options;
}

/// Large contents are allocated and freed with their requests. When clients move in step, the GNU allocator gives all
/// of them back to the kernel each time, and each page is then made anew: more work than receiving it. What it
/// may keep is a decision of the program and not of a library in it, so it stands here.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLarge = 8 << 20;  // from here on a block is the kernel's alone, as without this
  constexpr int kKept = 64 << 20;  // free, per loop
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

int fail(std::string_view what) {
  std::string line = "bench_server: " + std::string(what);
  for (char& c : line)
    if (c == '\n') c = ' ';
  std::fprintf(stderr, "%s (bench_server --help lists the flags)\n", line.c_str());
  return 2;
}

/// The exit code of who was only asked to print something.
int printed() {
  std::cout.flush();  // the help is written there
  if (std::fflush(stdout) == 0 && std::cout.good()) return 0;
  std::perror("bench_server: cannot write to the standard output");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli{"The server that LeanTea is measured with.", "bench_server"};
  Flags flags;
  add_flags(cli, flags);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help and --version
    cli.exit(help);
    return printed();
  } catch (const CLI::ParseError& error) {
    return fail(error.what());
  }
  if (flags.list_backends) {
    for (const std::string_view name : backends()) std::printf("%s\n", std::string(name).c_str());
    return printed();
  }
  if (const std::string wrong = contradiction(cli, flags); !wrong.empty()) return fail(wrong);
  keep_freed_memory();
  return Server{make_router(), options_from(cli, flags)}.run();
}
