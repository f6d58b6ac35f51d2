/* The part of <sys/event.h> of macOS and the BSDs that the kqueue poller uses, declared so that it can be
 * compiled on a system without kqueue (tests/kqueue). Values as in FreeBSD. Nothing here is ever linked. */
#ifndef LEANTEA_TESTS_SYS_EVENT_H
#define LEANTEA_TESTS_SYS_EVENT_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define EVFILT_READ (-1)
#define EVFILT_WRITE (-2)
#define EVFILT_USER (-11)

#define EV_ADD 0x0001
#define EV_DELETE 0x0002
#define EV_CLEAR 0x0020
#define EV_EOF 0x8000

#define NOTE_LOWAT 0x00000001
#define NOTE_TRIGGER 0x01000000

struct kevent {
  uintptr_t ident;
  short filter;
  unsigned short flags;
  unsigned int fflags;
  intptr_t data;
  void* udata;
};

#define EV_SET(kevp, a, b, c, d, e, f) \
  do {                                 \
    struct kevent* kevp_ = (kevp);     \
    kevp_->ident = (a);                \
    kevp_->filter = (b);               \
    kevp_->flags = (c);                \
    kevp_->fflags = (d);               \
    kevp_->data = (e);                 \
    kevp_->udata = (f);                \
  } while (0)

#ifdef __cplusplus
extern "C" {
#endif
int kqueue(void);
int kevent(int kq, const struct kevent* changes, int change_count, struct kevent* events,
           int event_count, const struct timespec* timeout);
#ifdef __cplusplus
}
#endif

#endif
