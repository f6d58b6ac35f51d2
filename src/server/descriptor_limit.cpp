#include "server/descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <climits>

namespace leantea::server {

std::uint64_t raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return UINT64_MAX;  // unknown: nothing to warn of
  if (limit.rlim_cur >= limit.rlim_max) return limit.rlim_cur;
  rlimit raised = limit;
  raised.rlim_cur = limit.rlim_max;
#ifdef __APPLE__
  // macOS says "no limit" and takes no more than this.
  raised.rlim_cur = std::min<rlim_t>(raised.rlim_cur, OPEN_MAX);
#endif
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

std::string descriptor_warning(std::uint64_t limit, std::uint32_t connections) {
  if (limit >= connections + kOtherDescriptors) return {};
  const std::uint64_t possible = limit - std::min(limit, kOtherDescriptors);
  return "the limit of open files is " + std::to_string(limit) + ", so about " +
         std::to_string(possible) + " connections are possible and not Limits::connections (" +
         std::to_string(connections) +
         "): raise it (ulimit -Hn, systemd's LimitNOFILE=) or lower Limits::connections";
}

}  // namespace leantea::server
