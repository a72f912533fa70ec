#include "collector/guard.h"

#include <stdatomic.h>

static _Thread_local bool inside;
static atomic_int captures;

bool guard_enter(void) {
  if (inside) return false;
  inside = true;
  return true;
}

void guard_leave(void) {
  inside = false;
}

bool guard_inside(void) {
  return inside;
}

void guard_capture(int change) {
  if (atomic_fetch_add(&captures, change) + change < 0)
    atomic_store(&captures, 0); /* its begin was before us */
}

bool guard_capturing(void) {
  return atomic_load(&captures) > 0;
}

void guard_forget(void) {
  inside = false;
  atomic_store(&captures, 0);
}
