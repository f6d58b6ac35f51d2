// Poller: what a readiness loop asks of the system, as a concept. Three offer it: epoll, kqueue and libuv; their
// headers have the same functions in the same order, and read side by side (diff).
#pragma once

#include <concepts>
#include <expected>
#include <string>

#include "net/readiness/interest.hpp"

namespace leantea::net::readiness {

template <typename P>
concept Poller = requires(P poller, const P constant, const typename P::Event event,
                          Interest interest, void* tag, int number) {
  /// Whether a watched descriptor may be closed without remove().
  { P::kForgetsClosed } -> std::convertible_to<bool>;
  { poller.open() } -> std::same_as<std::expected<void, std::string>>;
  { poller.add(number, interest, tag) } noexcept -> std::same_as<int>;
  { poller.add_listener(number, true, tag) } noexcept -> std::same_as<int>;
  { poller.change(number, interest, interest, tag) } noexcept -> std::same_as<int>;
  { poller.remove(number) } noexcept -> std::same_as<void>;
  { poller.wait(number) } noexcept -> std::same_as<int>;
  { constant.event(number) } noexcept -> std::convertible_to<typename P::Event>;
  { P::tag(event) } noexcept -> std::same_as<void*>;
  { P::readable(event) } noexcept -> std::same_as<bool>;
  { P::writable(event) } noexcept -> std::same_as<bool>;
  { P::ended(event) } noexcept -> std::same_as<bool>;
  { P::broken(event) } noexcept -> std::same_as<bool>;
  { poller.wake() } noexcept -> std::same_as<void>;
};

}  // namespace leantea::net::readiness
