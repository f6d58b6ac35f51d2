// One line on a terminal's error output that says what is running, how far all is, and how long it will still take;
// nothing where there is no terminal. Main thread only.
#pragma once

#include <string>
#include <string_view>

#include "interrupt.hpp"

namespace leantea::lab {

class ProgressLine {
 public:
  /// `expected`: how long all will take.
  explicit ProgressLine(std::chrono::duration<double> expected);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  void show(std::string_view what);
  void clear() const;

  /// How the line begins: ` 31 %, about 2 min 10 s left`. `elapsed` beyond `expected` is the end's last seconds.
  static std::string forecast(std::chrono::duration<double> elapsed,
                              std::chrono::duration<double> expected);

 private:
  Clock::time_point start_ = Clock::now();
  std::chrono::duration<double> expected_;
  bool terminal_;
};

}  // namespace leantea::lab
