/* A child's life: running, then leaving (exited and reaped; its group may have
 * to be ended, its output drained), then done. Everything happens in turns of
 * llmprof_spawn_pump: wait, read, look for the exit, see to time limits. */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "llmprof/alloc.h"
#include "os/spawn_internal.h"
#include "os/sys.h"

#define MILLISECOND INT64_C(1000000)
#define NEVER       INT64_MAX

/* How long an exited child's pipes may stay open. */
#define LINGER (250 * MILLISECOND)
/* How long SIGKILL may take to empty its group: on a busy machine what was
 * killed has to get a processor before it is gone. */
#define DYING (5000 * MILLISECOND)
/* How often to look where nothing wakes us: at a group, or at the child where
 * the kernel or a sandbox has no pidfd. */
#define TICK (10 * MILLISECOND)
/* The most that the look at a group, which doubles its time, comes to. */
#define LONGEST_TICK (16 * TICK)

typedef enum spawn_state {
  RUNNING,
  LEAVING,
  DONE,
} spawn_state;

struct llmprof_spawn {
  spawn_state state;
  pid_t pid; /* also its group */
  int pidfd; /* -1: none to be had */
  spawn_watch watch;
  spawn_stream streams[LLMPROF_STREAMS];
  spawn_sink sink;
  bool kill_group;
  spawn_orphans orphans;

  /* Monotonic times. */
  int64_t started, deadline, grace;
  bool stopping;     /* asked to end; its group has to end too */
  bool terminated;   /* SIGTERM was sent */
  bool killed;       /* SIGKILL was sent */
  int64_t kill_at;   /* once stopping; once killed: when to give up waiting */
  int64_t linger_to; /* once leaving: when to stop waiting for pipes to end */
  int64_t tick;      /* once leaving: until the next look at the group */

  llmprof_spawn_result result;
};

static int64_t now(void) {
  return llmprof_sys_monotonic();
}

static int64_t later(int64_t time, int64_t by) {
  return by > NEVER - time ? NEVER : time + by;
}

/* ---- stopping ---- */

/* To the group; and to the child should it have moved to another. */
static int send_signal(const llmprof_spawn *p, int number) {
  int failed = kill(-p->pid, number);
  if (p->state == RUNNING && getpgid(p->pid) != p->pid)
    failed = kill(p->pid, number);
  return failed;
}

/* The grace period begins, unless it has already. */
static void begin_stop(llmprof_spawn *p) {
  if (p->stopping) return;
  p->stopping = true;
  p->kill_at = later(now(), p->grace);
}

/* SIGTERM even if the grace period runs already, after another signal. What is
 * stopped goes on, so that it hears of it. */
static void terminate(llmprof_spawn *p) {
  if (!p->terminated) {
    send_signal(p, SIGTERM);
    send_signal(p, SIGCONT);
  }
  p->terminated = true;
  begin_stop(p);
}

static void kill_now(llmprof_spawn *p) {
  send_signal(p, SIGKILL);
  p->killed = true;
  p->kill_at = later(now(), DYING);
}

static void see_to_deadlines(llmprof_spawn *p) {
  int64_t time = now();
  if (p->state == RUNNING && !p->stopping && time >= p->deadline) {
    p->result.timed_out = true;
    terminate(p);
  }
  if (p->sink.stop) {
    p->sink.stop = false;
    terminate(p);
  }
  if (p->stopping && !p->killed && now() >= p->kill_at) kill_now(p);
}

/* The handler has forwarded it. A child that has exited already only keeps us
 * waiting, which has to end. */
static void see_to_signals(llmprof_spawn *p) {
  int number = llmprof_spawn_watch_check(&p->watch);
  if (!number) return;
  if (!p->result.interrupted) p->result.interrupted = number;
  if (p->state == RUNNING) {
    begin_stop(p);
  } else {
    p->linger_to = 0;
    p->kill_at = 0;
  }
}

/* ---- the exit ---- */

static void reap(llmprof_spawn *p) {
  int status;
  llmprof_spawn_result *result = &p->result;
  pid_t got;
  llmprof_spawn_watch_reaped(&p->watch);
  p->orphans.child = 0;
  do {
    got = waitpid(p->pid, &status, 0);
  } while (got < 0 && errno == EINTR);
  result->wall_ns = now() - p->started;
  if (got < 0) { /* somebody else in this program waited for it */
    llmprof_error err;
    llmprof_fail_errno(&err, errno, "process %d: its exit status is lost",
                       (int)p->pid);
    llmprof_spawn_fail(&p->sink, &err);
    p->sink.stop = false; /* the number may be another process's by now */
    return;
  }
  result->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static bool has_exited(const llmprof_spawn *p) {
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return errno == ECHILD;
  return info.si_pid == p->pid;
}

/* A long grace period is for the child, not for what it leaves behind. */
static void end_the_rest(llmprof_spawn *p) {
  int64_t latest = later(now(), LLMPROF_GRACE_NS);
  terminate(p);
  if (p->kill_at > latest) p->kill_at = latest;
}

/* Exited, not yet reaped: until then its number, and with it the group's,
 * cannot belong to anybody else. */
static void begin_leaving(llmprof_spawn *p) {
  if (p->kill_group) end_the_rest(p);
  for (size_t i = 0; i < LLMPROF_STREAMS; i++) {
    int pending = 0;
    if (p->streams[i].pipe >= 0 &&
        ioctl(p->streams[i].pipe, FIONREAD, &pending) == 0)
      p->streams[i].owed = (size_t)pending;
  }
  reap(p);
  p->state = LEAVING;
  p->linger_to = later(now(), LINGER);
  p->tick = TICK;
}

/* ---- the group ---- */

typedef struct membership {
  pid_t group;
  bool lives;
} membership;

static void find_member(void *user, const char *number,
                        const process_stat *stat) {
  (void)number;
  membership *m = user;
  if (stat->group == m->group && !llmprof_spawn_is_dead(stat)) m->lives = true;
}

/* kill counts zombies too, and those stay where nobody reaps orphans, as in
 * many a container. */
static bool has_live_member(pid_t group) {
  membership m = {.group = group};
  return !llmprof_spawn_each_process(find_member, &m) || m.lives;
}

static bool group_lives(const llmprof_spawn *p) {
  bool lives = kill(-p->pid, 0) == 0 && has_live_member(p->pid);
  /* Orphans are ours to reap if we are the container's first process. */
  while (waitpid(-p->pid, NULL, WNOHANG) > 0) {}
  return lives;
}

/* What has left the group gets its signals here, and so does what comes up
 * when its parent has ended. */
static bool orphans_live(llmprof_spawn *p) {
  return llmprof_spawn_orphans_signal(&p->orphans,
                                      p->killed ? SIGKILL : SIGTERM);
}

/* Must we wait for the group, or what left it, still? */
static bool group_pending(llmprof_spawn *p) {
  if (!p->stopping) return false;
  bool given_up = p->killed && now() >= p->kill_at;
  bool group = group_lives(p), orphans = orphans_live(p);
  if (!given_up && (group || orphans)) {
    p->linger_to = later(now(), LINGER);
    p->tick = p->tick < LONGEST_TICK ? 2 * p->tick : p->tick;
    return true;
  }
  p->stopping = false;
  return false;
}

/* ---- turns ---- */

static bool output_pending(const llmprof_spawn *p) {
  bool open = false, owed = false;
  for (size_t i = 0; i < LLMPROF_STREAMS; i++) {
    open |= p->streams[i].pipe >= 0;
    owed |= p->streams[i].owed > 0;
  }
  return owed || (open && now() < p->linger_to);
}

static void keep_orphans(llmprof_spawn *p) {
  spawn_orphans *orphans = &p->orphans;
  for (size_t i = 0; i < orphans->count; i++)
    p->result.orphans[i] = orphans->list[i].told;
  p->result.orphan_count = orphans->count;
  llmprof_spawn_orphans_end(orphans);
}

static void close_own(llmprof_spawn *p) {
  if (p->pidfd >= 0) close(p->pidfd);
  p->pidfd = -1;
}

static void finish(llmprof_spawn *p) {
  for (size_t i = 0; i < LLMPROF_STREAMS; i++) {
    llmprof_spawn_stream_flush(&p->streams[i], &p->sink);
    llmprof_spawn_stream_close(&p->streams[i]);
  }
  keep_orphans(p);
  int number = llmprof_spawn_watch_end(&p->watch);
  if (number && !p->result.interrupted) p->result.interrupted = number;
  close_own(p);
  p->state = DONE;
}

static int64_t wake_time(const llmprof_spawn *p) {
  int64_t time = NEVER;
  if (p->state == LEAVING) {
    time = p->linger_to;
    if (p->stopping) time = later(now(), p->tick);
  } else if (p->stopping) {
    if (!p->killed) time = p->kill_at;
  } else {
    time = p->deadline;
  }
  if (p->state == RUNNING && p->pidfd < 0) {
    int64_t tick = later(now(), TICK);
    if (tick < time) time = tick;
  }
  return time;
}

/* Wait for output, the exit, a signal, a time limit or `until`. */
static void wait_for_events(llmprof_spawn *p, int64_t until) {
  struct pollfd fds[LLMPROF_STREAMS + 1];
  nfds_t count = 0;
  for (size_t i = 0; i < LLMPROF_STREAMS; i++) {
    if (p->streams[i].pipe >= 0)
      fds[count++] = (struct pollfd){p->streams[i].pipe, POLLIN, 0};
  }
  if (p->state == RUNNING && p->pidfd >= 0)
    fds[count++] = (struct pollfd){p->pidfd, POLLIN, 0};
  int64_t wake = wake_time(p), time = now();
  if (until < wake) wake = until;
  int64_t wait = wake == NEVER ? -1 : wake > time ? wake - time : 0;
  /* A failure needs no handling: every turn looks at everything. */
  llmprof_spawn_watch_poll(&p->watch, fds, count, wait);
}

/* True when something happened that the caller may have waited for. */
static bool turn(llmprof_spawn *p, int64_t until) {
  bool happened = false;
  wait_for_events(p, until);
  llmprof_spawn_orphans_reap(&p->orphans);
  see_to_signals(p);
  for (size_t i = 0; i < LLMPROF_STREAMS; i++) {
    if (p->streams[i].pipe >= 0)
      happened |= llmprof_spawn_stream_read(&p->streams[i], &p->sink);
  }
  see_to_deadlines(p);
  if (p->state == RUNNING && has_exited(p)) begin_leaving(p);
  if (p->state == LEAVING && !group_pending(p) && !output_pending(p)) finish(p);
  return happened;
}

int llmprof_spawn_pump(llmprof_spawn *p, int64_t timeout_ns,
                       llmprof_error *err) {
  int64_t until = timeout_ns < 0 ? NEVER : later(now(), timeout_ns);
  bool happened = false;
  while (p->state != DONE && !happened) {
    happened = turn(p, until);
    if (now() >= until) break;
  }
  if (p->state != DONE) return 1;
  if (!p->sink.failed) return 0;
  if (err) *err = p->sink.failure;
  return -1;
}

bool llmprof_spawn_wait(llmprof_spawn *p, llmprof_spawn_result *result,
                        llmprof_error *err) {
  int more;
  do {
    more = llmprof_spawn_pump(p, -1, err);
  } while (more > 0);
  *result = p->result;
  return more == 0;
}

bool llmprof_spawn_stop(llmprof_spawn *p, llmprof_spawn_result *result,
                        llmprof_error *err) {
  if (p->state == RUNNING) terminate(p);
  return llmprof_spawn_wait(p, result, err);
}

/* ---- the handle ---- */

/* The kernel, or a sandbox around it, may not have pidfds: then we look. */
static void adopt(llmprof_spawn *p, pid_t pid) {
  p->pid = p->result.pid = p->orphans.child = p->orphans.group = pid;
  p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool prepare(llmprof_spawn *p, const llmprof_spawn_options *options) {
  p->pidfd = p->watch.slot = -1;
  p->result.code = -1;
  for (int i = 0; i < LLMPROF_STREAMS; i++)
    p->streams[i] = (spawn_stream){(llmprof_stream)i, .pipe = -1, .file = -1};
  p->sink.on_line = options->on_line;
  p->sink.user = options->user;
  p->kill_group = options->kill_group || options->kill_orphans;
  p->grace = options->grace_ns == 0  ? LLMPROF_GRACE_NS
             : options->grace_ns < 0 ? 0
                                     : options->grace_ns;
  p->started = now();
  p->deadline =
      options->timeout_ns > 0 ? later(p->started, options->timeout_ns) : NEVER;
  if (options->on_line) p->sink.chunk = llmprof_alloc(SPAWN_CHUNK, 1);
  return p->sink.chunk || !options->on_line;
}

llmprof_spawn *llmprof_spawn_start(const char *const *argv,
                                   const llmprof_spawn_options *options,
                                   llmprof_error *err) {
  static const llmprof_spawn_options defaults;
  if (!options) options = &defaults;
  llmprof_spawn *p = llmprof_zalloc(1, sizeof *p);
  if (!p) return llmprof_fail_nomem(err), NULL;
  pid_t pid;
  p->state = DONE; /* until there is a child */
  bool ok = prepare(p, options) || llmprof_fail_nomem(err);
  if (ok && options->kill_orphans)
    ok = llmprof_spawn_orphans_prepare(&p->orphans, options->mark, err);
  llmprof_spawn_orphans_begin(&p->orphans);
  if (ok && llmprof_spawn_launch(argv, options, &p->orphans, p->streams,
                                 &p->watch, &pid, err)) {
    p->state = RUNNING;
    adopt(p, pid);
    return p;
  }
  llmprof_spawn_free(p);
  return NULL;
}

bool llmprof_spawn_running(const llmprof_spawn *p) {
  return p->state == RUNNING && !has_exited(p);
}

pid_t llmprof_spawn_pid(const llmprof_spawn *p) {
  return p->pid;
}

int llmprof_spawn_interrupted(const llmprof_spawn *p) {
  return p->result.interrupted;
}

bool llmprof_spawn_signal(llmprof_spawn *p, int number, llmprof_error *err) {
  if (!llmprof_spawn_running(p))
    return llmprof_fail(err, LLMPROF_NOTFOUND, "process %d has ended",
                        (int)p->pid);
  return send_signal(p, number) == 0 ||
         llmprof_fail_errno(err, errno, "process %d", (int)p->pid);
}

static void kill_everything(llmprof_spawn *p) {
  llmprof_spawn_orphans_signal(&p->orphans, SIGKILL);
  send_signal(p, SIGKILL);
}

void llmprof_spawn_free(llmprof_spawn *p) {
  if (!p) return;
  if (p->state == RUNNING || (p->state == LEAVING && p->stopping))
    kill_everything(p);
  if (p->state == RUNNING) reap(p);
  llmprof_spawn_orphans_end(&p->orphans);
  llmprof_spawn_watch_abandon(&p->watch);
  for (size_t i = 0; i < LLMPROF_STREAMS; i++)
    llmprof_spawn_stream_close(&p->streams[i]);
  close_own(p);
  llmprof_free(p->sink.chunk);
  llmprof_free(p);
}
