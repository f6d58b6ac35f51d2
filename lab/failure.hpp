// Why the lab ends early. Thrown to main(), so that everything started on the way is stopped by its owner's
// destructor.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace leantea::lab {

/// Exit codes of leantea-lab.
inline constexpr int kExitFailure = 1;  ///< something measured or checked was not as it has to be
inline constexpr int kExitUsage = 2;    ///< a wrong argument, or a program that is not installed

/// The message is one line for the user: what is wrong, and what to do.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& message, int exit_code = kExitFailure)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

/// SIGINT, SIGTERM or SIGHUP came while the lab was waiting for something.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) noexcept : signal_(signal) {}
  int exit_code() const noexcept { return 128 + signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

}  // namespace leantea::lab
