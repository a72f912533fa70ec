#include "collector/refusal.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/files.h"

enum {
  KEY = 32 /* characters */
};

static char key[KEY + 1];

void refusal_init(void) {
  const char *given = getenv("LLMPROF_COLLECTOR_REFUSALS");
  bool sound = given && strlen(given) == KEY;
  snprintf(key, sizeof key, "%s", sound ? given : "");
}

/* An abstract socket has no permissions and lies in no folder. As anybody may
 * look its name up, that is half of the key, and a line begins with all of it.
 */
void refusal_tell(const char *why) {
  static pid_t told; /* once is enough; a child of a fork is another process */
  char name[64], line[512];
  if (!key[0] || told == getpid()) return;
  told = getpid();
  snprintf(name, sizeof name, "@llmprof-%.*s", KEY / 2, key);
  int to = files_connect(name);
  if (to < 0) return;
  int n = snprintf(line, sizeof line, "%s refused pid=%d uid=%d why=%.256s\n",
                   key, (int)getpid(), (int)geteuid(), why);
  if (n > 0) (void)files_write(to, line, strlen(line));
  files_close(to);
}
