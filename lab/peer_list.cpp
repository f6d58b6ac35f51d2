#include "peer_list.hpp"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "peer.hpp"
#include "table.hpp"

namespace leantea::lab {
namespace {

/// What the peers need of `kind`, each once: packages of those that are not installed, and the targets of all, since
/// their sources may have changed.
std::set<std::string> needs_of(const std::vector<Peer>& peers, const std::string& kind) {
  std::set<std::string> needs;
  for (const Peer& peer : peers) {
    if (kind == "target" && !peer.target.empty()) needs.insert(peer.target);
    if (!program_of(peer).empty()) continue;
    if (kind == "debian") needs.insert(peer.debian.begin(), peer.debian.end());
    if (kind == "npm") needs.insert(peer.npm.begin(), peer.npm.end());
  }
  return needs;
}

std::string state_of(const Peer& peer) {
  return program_of(peer).empty() ? "not installed" : version_of(peer);
}

std::string left_out_of(const Peer& peer) {
  std::vector<std::string> names;
  for (const auto& [what, why] : peer.cannot) names.push_back(what);
  if (peer.most_connections > 0)
    names.push_back(fmt::format("more than {} connections", peer.most_connections));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

int list_peers(const PeerListOptions& options) {
  const std::vector<Peer> peers = peers_named(options.names);
  if (!options.needs.empty()) {
    for (const std::string& need : needs_of(peers, options.needs)) fmt::print("{}\n", need);
    return 0;
  }
  Table table({"peer", "what it is", "version", "left out of"});
  for (const Peer& peer : peers)
    table.add({peer.name, peer.title, state_of(peer), left_out_of(peer)});
  fmt::print("{}", table.text());
  for (const Peer& peer : peers) {
    if (program_of(peer).empty()) fmt::print("{}: {}\n", peer.name, how_to_install(peer));
  }
  return 0;
}

}  // namespace leantea::lab
