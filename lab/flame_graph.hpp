// Flame graphs: call stacks that were sampled, drawn so that width is time. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace leantea::lab {

/// Samples by stack. A stack is its frames from the outermost in, joined by ';'. Frames of the kernel end in `_[k]`.
using FoldedStacks = std::map<std::string, std::uint64_t>;

/// Reads the output of `perf script -F comm,pid,tid,time,event,ip,sym,dso`.
FoldedStacks fold(std::string_view perf_script);

/// An SVG that needs nothing else: each box has its name, share and number of samples as hover text.
std::string flame_graph(const FoldedStacks& stacks, std::string_view title);

}  // namespace leantea::lab
