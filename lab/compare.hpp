// `leantea-lab compare`: servers of the user's, or builds of ours, against others, until the verdict is clear. And
// `leantea-lab self-check`: the same with servers of which the answer is known.
#pragma once

#include <string>
#include <vector>

#include "bench.hpp"
#include "blocks.hpp"
#include "statistics.hpp"

namespace leantea::lab {

/// After so many blocks there is a first look at the verdict, and after as many again the next, up to kMostLooks.
inline constexpr int kBlocksPerLook = 12;
inline constexpr int kMostLooks = 3;

/// The confidence of each look's interval, so that all looks together are wrong in no more than 5 % of the cases
/// (Bonferroni): whoever may look three times and stop at the best is wrong more often than whoever looks once.
inline constexpr double kLookConfidence = 1 - (1 - kConfidence) / kMostLooks;

struct CompareOptions {
  RunOptions run;
  std::string
      reference;  ///< the name of the server that the others are compared with; empty: the last
};

/// Measures and prints. The exit code: 0, or 1 when a server was void.
int compare(const CompareOptions& options);

/// Two builds of the bench server in one scenario.
struct BuildComparison {
  ContestResult contest;  ///< lanes `candidate` and `base`
  Metric metric = Metric::kCpuMicros;
  Interval ratio;  ///< candidate ÷ base
  Verdict verdict = Verdict::kInconclusive;
};

/// Compares two bench servers, named by their paths, in `options.scenarios` (default: health). Throws Failure when a
/// program is missing or a server is void.
std::vector<BuildComparison> compare_builds(const std::string& base, const std::string& candidate,
                                            const RunOptions& options, const Progress& progress);

/// `the candidate is slower: CPU µs/request 4.1 % more (3.2–5.0), 20 blocks` and the like.
std::string in_words(const BuildComparison& comparison);

struct SelfCheckOptions {
  RunOptions run;
  std::string
      slowed;  ///< a build that is slower; empty: bench_server_slowed beside the lab, where it is there
  int tries = 1;
};

/// Compares our bench server with itself, which has to come out equivalent, and with a slowed build, which has to come
/// out slower; prints how often. The exit code: 0 when all did, or at most one in twenty did not.
int self_check(const SelfCheckOptions& options);

}  // namespace leantea::lab
