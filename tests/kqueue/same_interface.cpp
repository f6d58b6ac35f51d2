// Both pollers offer the loop the same functions: checked by the compiler, nothing runs.
#include <concepts>
#include <expected>
#include <string>

#include "net/reactor/poller_epoll.hpp"
#include "net/reactor/poller_kqueue.hpp"

namespace leantea::net {
namespace {

template <typename P>
concept PollerForLoop = requires(P poller, const P constant, const typename P::Event event,
                                 Interest interest, void* tag, int number) {
  { poller.open() } -> std::same_as<std::expected<void, std::string>>;
  { poller.add(number, interest, tag) } noexcept -> std::same_as<int>;
  { poller.add_listener(number, true, tag) } noexcept -> std::same_as<int>;
  { poller.change(number, interest, interest, tag) } noexcept -> std::same_as<int>;
  { poller.remove(number) } noexcept -> std::same_as<void>;
  { poller.wait(number) } noexcept -> std::same_as<int>;
  { constant.event(number) } noexcept -> std::same_as<const typename P::Event&>;
  { P::tag(event) } noexcept -> std::same_as<void*>;
  { P::readable(event) } noexcept -> std::same_as<bool>;
  { P::writable(event) } noexcept -> std::same_as<bool>;
  { P::ended(event) } noexcept -> std::same_as<bool>;
  { P::broken(event) } noexcept -> std::same_as<bool>;
  { poller.wake() } noexcept -> std::same_as<void>;
};

static_assert(PollerForLoop<EpollPoller>);
static_assert(PollerForLoop<KqueuePoller>);

}  // namespace
}  // namespace leantea::net
