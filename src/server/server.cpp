#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <leantea/server.hpp>

#include "app/application.hpp"
#include "app/engine.hpp"
#include "app/route_table.hpp"
#include "app/worker_pool.hpp"
#include "base/assert.hpp"
#include "net/backend.hpp"
#include "net/listener.hpp"
#include "net/thread_name.hpp"
#include "server/descriptor_limit.hpp"
#include "server/options.hpp"
#include "server/standard_streams.hpp"
#include "server/stop_signals.hpp"

namespace leantea {
namespace {

using std::chrono::milliseconds;

// Only Linux spreads connections over sockets that share a port; elsewhere the loops share one socket.
#ifdef __linux__
constexpr bool kKernelSpreadsConnections = true;
#else
constexpr bool kKernelSpreadsConnections = false;
#endif

std::string joined(const std::vector<std::string>& sentences) {
  std::string all;
  for (const std::string& sentence : sentences) {
    if (!all.empty()) all += "; ";
    all += sentence;
  }
  return all;
}

std::string_view environment_backend() {
  const char* const value = std::getenv(server::kBackendVariable);
  return value != nullptr ? std::string_view{value} : std::string_view{};
}

net::ListenOptions listen_options(const ServerOptions& options, unsigned loops) {
  return {.backlog = options.backlog,
          .tcp_nodelay = options.tcp_nodelay,
          .defer_accept_seconds = options.defer_accept_seconds,
          .reuse_port = loops > 1 && kKernelSpreadsConnections};
}

}  // namespace

/// All of a server, at one place in memory as long as it lives: its threads point into it.
struct Server::Impl {
  Impl(Router from, ServerOptions with) : router(std::move(from)), options(std::move(with)) {}
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::expected<void, std::string> start(const Server& self);
  std::expected<void, std::string> open();
  std::expected<void, std::string> serve(const server::BackendChoice& choice);
  /// How long a drain may take where nothing else is said. As with all timeouts, zero is "no bound".
  milliseconds usual_deadline() const {
    const milliseconds timeout = options.limits.shutdown_timeout;
    return timeout > milliseconds::zero() ? timeout : std::chrono::hours(24 * 365);
  }
  void drain(milliseconds deadline);
  void stop() {
    drain(milliseconds::zero());
    wait();
  }
  void wait();
  int run(const Server& self);
  void run_until_ended(server::StopSignals& signals);
  void set_events(server::StopSignals* to);
  bool serving() const noexcept { return loops != 0; }

  // The owner's thread only, until start() has begun to serve.
  Router router;
  bool started = false;

  // Constant once it serves. In this order, for each points to those before it.
  ServerOptions options;
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
  std::string_view backend_name;
  unsigned loops = 0;  ///< 0: it does not serve
  std::unique_ptr<app::Application> application;
  std::unique_ptr<app::WorkerPool> workers;
  std::unique_ptr<app::ServerShared> shared;

  std::mutex mutex;
  // Guarded by mutex. What it points to is constant once it is set.
  std::unique_ptr<net::Backend> backend;
  std::optional<milliseconds> drain_asked;  ///< also before there is a backend, or a run()
  server::StopSignals* events = nullptr;    ///< of run()

  std::mutex joining;  ///< held while somebody waits for the threads' end: a thread is joined once
};

std::expected<void, std::string> Server::Impl::start(const Server& self) {
  LEANTEA_ASSERT(!started);
  started = true;
  server::occupy_standard_streams();
  auto opened = open();
  if (opened && options.on_start) options.on_start(self);
  return opened;
}

/// Judges router and options, and makes all that the threads share.
std::expected<void, std::string> Server::Impl::open() {
  if (const auto problems = router.problems(); !problems.empty())
    return std::unexpected(joined(problems));
  if (auto checked = server::check_options(options); !checked) return checked;
  const auto choice = server::choose_backend(options, environment_backend());
  if (!choice) return std::unexpected(choice.error());

  application = std::make_unique<app::Application>(std::move(router), options.log);
  workers = std::make_unique<app::WorkerPool>(options.workers, [](unsigned index) {
    net::name_this_thread("leantea/w" + std::to_string(index));
  });
  // Not make_unique: an aggregate with an atomic in it.
  // NOLINTNEXTLINE(modernize-make-unique)
  shared.reset(new app::ServerShared{*application, options.limits, *workers});
  const std::uint64_t descriptors = server::raise_descriptor_limit();
  if (auto serving = serve(*choice); !serving) return serving;
  if (const std::string warning =
          server::descriptor_warning(descriptors, options.limits.connections);
      !warning.empty())
    application->log(warning);
  return {};
}

/// Opens the sockets and starts the threads.
std::expected<void, std::string> Server::Impl::serve(const server::BackendChoice& choice) {
  auto made = net::make_backend(
      choice.name, *shared,
      {.loops = choice.loops, .max_connection_threads = options.connection_threads});
  if (!made) {
    if (!choice.from_environment) return std::unexpected(std::move(made.error()));
    return std::unexpected(std::string(server::kBackendVariable) + ": " + made.error());
  }
  auto listeners = net::open_listeners(server::listen_addresses(options), choice.loops,
                                       listen_options(options, choice.loops));
  if (!listeners) return std::unexpected(std::move(listeners.error()));
  for (const net::Listener& listener : listeners->front()) {
    addresses.push_back(listener.address());
    if (port == 0 && listener.tcp()) port = listener.port();
  }
  if (auto serving = (*made)->start(std::move(*listeners)); !serving) return serving;

  backend_name = (*made)->name();
  loops = choice.loops;
  const std::scoped_lock lock(mutex);
  backend = std::move(*made);
  if (drain_asked) backend->drain(*drain_asked);
  return {};
}

void Server::Impl::drain(milliseconds deadline) {
  const std::scoped_lock lock(mutex);
  drain_asked = std::min(drain_asked.value_or(deadline), deadline);
  if (backend != nullptr) backend->drain(deadline);
  if (events != nullptr) events->post(server::StopSignals::Event::kDrain);
}

void Server::Impl::wait() {
  net::Backend* serving = nullptr;
  {
    const std::scoped_lock lock(mutex);
    serving = backend.get();
  }
  if (serving == nullptr) return;
  const std::scoped_lock lock(joining);
  serving->join();
}

void Server::Impl::set_events(server::StopSignals* to) {
  const std::scoped_lock lock(mutex);
  events = to;
  if (to != nullptr && drain_asked) to->post(server::StopSignals::Event::kDrain);
}

int Server::Impl::run(const Server& self) {
  server::occupy_standard_streams();
  // Before the threads start, so that no signal comes too early for it.
  server::StopSignals signals;
  auto begun = signals.ready();
  if (begun && !started) begun = start(self);
  if (!begun) {
    std::fprintf(stderr, "leantea: %s\n", begun.error().c_str());
    return 2;
  }
  set_events(&signals);
  run_until_ended(signals);
  set_events(nullptr);
  return 0;
}

/// Waits for what begins the drain, then for its end. A second signal makes it short.
void Server::Impl::run_until_ended(server::StopSignals& signals) {
  using Event = server::StopSignals::Event;
  int received = 0;
  std::thread waiter;
  for (Event event = signals.next(); event != Event::kEnded; event = signals.next()) {
    if (event == Event::kSignal) drain(++received == 1 ? usual_deadline() : milliseconds::zero());
    if (waiter.joinable()) continue;
    try {
      waiter = std::thread([this, &signals] {
        wait();
        signals.post(Event::kEnded);
      });
    } catch (const std::system_error&) {
      return wait();  // without the thread a second signal goes unheard; the end comes all the same
    }
  }
  waiter.join();
}

Server::Server(Router router, ServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(router), std::move(options))) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

std::expected<void, std::string> Server::start() { return impl_->start(*this); }

std::uint16_t Server::port() const noexcept {
  LEANTEA_ASSERT(impl_->serving());
  return impl_->port;
}

const std::vector<std::string>& Server::addresses() const noexcept {
  LEANTEA_ASSERT(impl_->serving());
  return impl_->addresses;
}

std::string_view Server::backend() const noexcept {
  LEANTEA_ASSERT(impl_->serving());
  return impl_->backend_name;
}

unsigned Server::loops() const noexcept {
  LEANTEA_ASSERT(impl_->serving());
  return impl_->loops;
}

std::size_t Server::connections() const noexcept {
  return impl_->shared != nullptr ? impl_->shared->connections.load(std::memory_order_relaxed) : 0;
}

void Server::drain(std::optional<milliseconds> deadline) {
  impl_->drain(deadline.value_or(impl_->usual_deadline()));
}

void Server::stop() { impl_->stop(); }

void Server::wait() { impl_->wait(); }

int Server::run() { return impl_->run(*this); }

std::vector<std::string_view> backends() {
  const auto names = net::backend_names();
  return {names.begin(), names.end()};
}

}  // namespace leantea
