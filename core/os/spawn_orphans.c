/* Processes that a child started and that left its group: a daemon has a
 * session of its own and no living parent. They are known by two things. While
 * the child runs we adopt orphans (PR_SET_CHILD_SUBREAPER), so that a process
 * below us which is no child that we started is one of them; and the child's
 * environment has a mark, which whatever it starts inherits. The
 * former holds where an environment was wiped, the latter where a process has
 * another parent still, or the system has no subreapers. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/spawn_internal.h"

enum {
  LAST_MS = 100, /* for what was killed to be dead */
  LEFT_MS = 5000 /* and for what others left */
};

/* Of all children that we have, wanted or not. */
static spawn_orphans *all;

/* ---- /proc ---- */

static int open_proc(const char *number, const char *file) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%.20s/%s", number, file);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* False when it is gone. The name may contain anything but is short. */
static bool read_stat(const char *number, process_stat *stat) {
  char text[1024];
  int fd = open_proc(number, "stat");
  if (fd < 0) return false;
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  text[size > 0 ? size : 0] = '\0';
  char *name = strchr(text, '('), *after = strrchr(text, ')');
  if (!name || !after || after < name) return false;
  *after = '\0';
  snprintf(stat->name, sizeof stat->name, "%s", name + 1);
  stat->pid = (pid_t)strtol(number, NULL, 10);
  /* state, parent, group, then 16 fields to the start time */
  return sscanf(after + 1,
                " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                "%*s %*s %*s %*s %llu",
                &stat->state, &stat->parent, &stat->group, &stat->started) == 4;
}

bool llmprof_spawn_each_process(process_visitor *visit, void *user) {
  DIR *dir = opendir("/proc");
  if (!dir) return false;
  struct dirent *entry;
  while ((entry = readdir(dir))) {
    process_stat stat;
    if (*entry->d_name >= '1' && *entry->d_name <= '9' &&
        read_stat(entry->d_name, &stat))
      visit(user, entry->d_name, &stat);
  }
  closedir(dir);
  return true;
}

bool llmprof_spawn_is_dead(const process_stat *stat) {
  return stat->state == 'Z' || stat->state == 'X';
}

/* Is `mark` an entry of the environment that the process was started with? */
static bool has_mark(const char *number, const char *mark) {
  char bytes[4096];
  ssize_t size = 0;
  size_t at = 0; /* so far the entry is the mark's first bytes */
  bool same = true, found = false;
  int fd = open_proc(number, "environ");
  if (fd < 0) return false;
  while (!found && (size = read(fd, bytes, sizeof bytes)) > 0) {
    for (ssize_t i = 0; i < size && !found; i++) {
      same = same && bytes[i] == mark[at];
      at = same ? at + 1 : 0;
      found = same && !bytes[i];
      if (!bytes[i]) at = 0, same = true;
    }
  }
  close(fd);
  return found;
}

/* ---- telling them apart ---- */

static bool is_child(pid_t pid) {
  const spawn_orphans *s = all;
  while (s && s->child != pid) s = s->next;
  return s != NULL;
}

static bool is_orphan(const spawn_orphans *s, const char *number,
                      const process_stat *stat) {
  if (stat->pid == getpid() || stat->group == s->group || is_child(stat->pid))
    return false;
  return stat->parent == getpid() || has_mark(number, s->mark);
}

/* Its entry, made if it is new and there is room; NULL without. */
static spawn_orphan *note(spawn_orphans *s, const process_stat *stat) {
  for (size_t i = 0; i < s->count; i++) {
    spawn_orphan *known = &s->list[i];
    if (known->told.pid == stat->pid && known->started == stat->started)
      return known;
  }
  if (s->count == LLMPROF_ORPHANS_MAX) return NULL;
  spawn_orphan *made = &s->list[s->count++];
  *made = (spawn_orphan){.told = {.pid = stat->pid}, .started = stat->started};
  memcpy(made->told.name, stat->name, sizeof made->told.name);
  return made;
}

/* Each gets a signal once, those that there is no room to note always. */
static void tell(spawn_orphans *s, const process_stat *stat, int number) {
  spawn_orphan *known = note(s, stat);
  if (known) known->told.lives = true;
  if (!number || (known && known->sent == number)) return;
  if (known) known->sent = number;
  kill(stat->pid, number);
  if (number == SIGTERM) kill(stat->pid, SIGCONT);
}

/* ---- what a child's life needs ---- */

bool llmprof_spawn_mark(char mark[LLMPROF_MARK_SIZE], llmprof_error *err) {
  unsigned char random[LLMPROF_MARK_SIZE / 2];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
    return llmprof_fail_errno(err, errno, "getrandom");
  for (size_t i = 0; i < sizeof random; i++)
    snprintf(mark + 2 * i, 3, "%02x", random[i]);
  return true;
}

static bool set_mark(spawn_orphans *s, const char *mark) {
  int size = snprintf(s->mark, sizeof s->mark, "%s=%s", LLMPROF_RUN_MARK, mark);
  bool ok = *mark && size > 0 && (size_t)size < sizeof s->mark;
  if (!ok) s->mark[0] = '\0';
  return ok;
}

bool llmprof_spawn_orphans_prepare(spawn_orphans *s, const char *mark,
                                   llmprof_error *err) {
  char made[LLMPROF_MARK_SIZE];
  if (!mark && !llmprof_spawn_mark(made, err)) return false;
  if (!set_mark(s, mark ? mark : made))
    return llmprof_fail(err, LLMPROF_SYNTAX, "no mark of a child's processes");
  return true;
}

void llmprof_spawn_orphans_begin(spawn_orphans *s) {
  s->next = all;
  all = s;
  if (!s->mark[0]) return;
  /* Where the system has no subreapers the mark has to do. */
  if (prctl(PR_GET_CHILD_SUBREAPER, &s->was_reaper) != 0) s->was_reaper = 1;
  if (!s->was_reaper) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* What is looked for among all processes. */
typedef struct search {
  spawn_orphans *orphans;
  int number; /* of the signal that they get */
  bool lives; /* does one? */
} search;

static void kill_if_marked(void *user, const char *number,
                           const process_stat *stat) {
  search *s = user;
  if (llmprof_spawn_is_dead(stat) || stat->pid == getpid() ||
      !has_mark(number, s->orphans->mark))
    return;
  s->lives = true;
  tell(s->orphans, stat, SIGKILL);
}

/* Kill all with the mark; does one live? */
static bool kill_marked(spawn_orphans *orphans) {
  search s = {.orphans = orphans};
  (void)llmprof_spawn_each_process(kill_if_marked, &s);
  return s.lives;
}

size_t llmprof_spawn_end_left(const char *mark,
                              llmprof_orphan orphans[LLMPROF_ORPHANS_MAX]) {
  spawn_orphans s = {.next = NULL};
  const char *own = getenv(LLMPROF_RUN_MARK);
  if ((own && strcmp(own, mark) == 0) || !set_mark(&s, mark)) return 0;
  bool lives = kill_marked(&s);
  for (int waited = 0; lives && waited < LEFT_MS; waited++) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (size_t i = 0; i < s.count; i++) s.list[i].told.lives = false;
    lives = kill_marked(&s);
  }
  for (size_t i = 0; i < s.count; i++) orphans[i] = s.list[i].told;
  return s.count;
}

static void signal_orphan(void *user, const char *number,
                          const process_stat *stat) {
  search *s = user;
  if (!is_orphan(s->orphans, number, stat)) return;
  if (llmprof_spawn_is_dead(stat)) {
    waitpid(stat->pid, NULL, WNOHANG);
  } else {
    s->lives = true;
    tell(s->orphans, stat, s->number);
  }
}

bool llmprof_spawn_orphans_signal(spawn_orphans *orphans, int number) {
  search s = {.orphans = orphans, .number = number};
  if (!orphans->mark[0]) return false;
  for (size_t i = 0; i < orphans->count; i++)
    orphans->list[i].told.lives = false;
  return llmprof_spawn_each_process(signal_orphan, &s) && s.lives;
}

void llmprof_spawn_orphans_reap(const spawn_orphans *s) {
  siginfo_t info = {0};
  while (s->mark[0] &&
         waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid && !is_child(info.si_pid)) {
    waitpid(info.si_pid, NULL, WNOHANG);
    info.si_pid = 0;
  }
}

/* What was killed a moment ago is not dead yet. Where children run we cannot
 * tell whether there is more to come. */
static void reap_the_last(const spawn_orphans *s) {
  for (int waited = 0; waited < LAST_MS; waited++) {
    siginfo_t info = {0};
    llmprof_spawn_orphans_reap(s);
    if (all || waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
      return;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

void llmprof_spawn_orphans_end(spawn_orphans *s) {
  spawn_orphans **at = &all;
  while (*at && *at != s) at = &(*at)->next;
  if (!*at) return;
  *at = s->next;
  if (s->count) reap_the_last(s);
  if (s->mark[0] && !s->was_reaper) prctl(PR_SET_CHILD_SUBREAPER, 0);
}
