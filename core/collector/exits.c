#include "collector/exits.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
  MOST = 16 /* times that it is registered; the C library has room for 32 */
};

static void (*_Atomic what)(void);
static atomic_int times;

static void at_exit(void) {
  void (*handler)(void) = atomic_load(&what);
  if (handler) handler();
}

void exits_set(void (*handler)(void)) {
  atomic_store(&what, handler);
}

void exits_register(void) {
  if (atomic_fetch_add(&times, 1) < MOST) (void)atexit(at_exit);
}
