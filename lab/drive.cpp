#include "drive.hpp"

#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "client.hpp"
#include "failure.hpp"

namespace leantea::lab {

void drive(std::uint16_t port, std::string_view request, std::size_t requests,
           std::size_t connections) {
  if (connections == 0 || requests % connections != 0)
    throw std::logic_error("requests do not divide by connections");
  std::vector<Client> clients;
  clients.reserve(connections);
  for (std::size_t i = 0; i < connections; ++i) clients.emplace_back(port);
  std::size_t answer_bytes = 0;
  for (std::size_t sent = 0; sent < requests; sent += connections) {
    for (Client& client : clients) client.send(request);
    for (Client& client : clients) {
      if (answer_bytes > 0) {
        client.receive_counted(1, answer_bytes);
        continue;
      }
      const Answer first = client.receive();
      if (first.status != 200)
        throw Failure(fmt::format("the server answers with status {}", first.status));
      answer_bytes = first.bytes;
    }
  }
}

}  // namespace leantea::lab
