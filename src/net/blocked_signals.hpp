// BlockedSignals: for the time it lives, this thread takes no signals, and the threads it starts take none
// for ever. A server's own threads leave SIGTERM and all others to the program's.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace leantea::net {

class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    // These come from the thread's own mistakes, and blocking them only hides where.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
      sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace leantea::net
