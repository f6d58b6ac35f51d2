// What a backend answers its engine about a connection's peer: it only has to know the connection's socket.
#pragma once

#include "app/engine.hpp"
#include "net/socket.hpp"

namespace leantea::net {

/// `descriptor_of` is the backend's: the socket of a connection that is open.
template <int (*descriptor_of)(const app::Connection&)>
inline constexpr app::PeerInquiry kPeerInquiry{
    .name = [](const app::Connection& connection) { return peer_name(descriptor_of(connection)); },
    .delivery_age =
        [](const app::Connection& connection) { return delivery_age(descriptor_of(connection)); },
};

}  // namespace leantea::net
