/*
 * Preloaded, this has the kernel refuse some of the small sends that announce more (MSG_MORE), as it does when its buffer is exactly
 * full. On a quiet machine that happens once in hours.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

#define SMALL_BYTES 2048

static ssize_t (*real_send)(int, const void *, size_t, int);
static unsigned seed = 12345;

ssize_t send(int fd, const void *bytes, size_t length, int flags) {
  if (!real_send) real_send = dlsym(RTLD_NEXT, "send");
  seed = seed * 1103515245u + 12345u;
  if ((flags & MSG_MORE) && length <= SMALL_BYTES && (seed >> 16) % 3 == 0) {
    errno = EAGAIN;
    return -1;
  }
  return real_send(fd, bytes, length, flags);
}
