#include "os/lineedit.h"

#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/alloc.h"
#include "base/interrupt.h"

enum {
  HISTORY_LINES = 1000
};

struct llmprof_lineedit {
  EditLine *el;
  History *history;
  const char *prompt;
  char *line; /* the last one read */
  llmprof_completer completer;
  void *user;
};

static llmprof_lineedit *editor_of(EditLine *el) {
  void *edit = NULL;
  el_get(el, EL_CLIENTDATA, &edit);
  return edit;
}

static char *prompt_of(EditLine *el) {
  return (char *)(uintptr_t)editor_of(el)->prompt;
}

/* ---- keys ---- */

/* Wait for input; an interrupt that comes before or meanwhile ends it. */
static bool wait_for_input(void) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGINT);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  bool ready = false;
  while (!ready && !llmprof_interrupted())
    ready = ppoll(&input, 1, NULL, &before) > 0 ||
            (errno != EINTR && errno != EAGAIN);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return ready;
}

/* libedit's source of characters: 1 read, 0 end of input, -1 stopped. */
static int read_key(EditLine *el, wchar_t *key) {
  (void)el;
  mbstate_t state = {0};
  for (;;) {
    char byte;
    if (!wait_for_input()) {
      errno = EINTR;
      return -1;
    }
    ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return (int)got;
    size_t used = mbrtowc(key, &byte, 1, &state);
    if (used == (size_t)-2) continue; /* more to come */
    if (used == (size_t)-1) state = (mbstate_t){0};
    if (used <= 1) return 1;
  }
}

/* ---- completion ---- */

static unsigned char complete(EditLine *el, int key) {
  (void)key;
  llmprof_lineedit *edit = editor_of(el);
  const LineInfo *info = el_line(el);
  size_t size = (size_t)(info->cursor - info->buffer);
  char *before = llmprof_memdup(info->buffer, size);
  if (!edit->completer || !before) {
    llmprof_free(before);
    return CC_ERROR;
  }
  llmprof_completion found = {0};
  edit->completer(edit->user, before, &found);
  unsigned char result = found.insert || found.listing ? CC_REFRESH : CC_ERROR;
  if (found.insert && el_insertstr(el, found.insert) != 0) result = CC_ERROR;
  if (found.listing) {
    printf("\n%s\n", found.listing);
    fflush(stdout);
    result = CC_REDISPLAY;
  }
  llmprof_free(found.insert);
  llmprof_free(found.listing);
  llmprof_free(before);
  return result;
}

void llmprof_lineedit_complete(llmprof_lineedit *edit,
                               llmprof_completer completer, void *user) {
  edit->completer = completer;
  edit->user = user;
}

/* ---- the editor ---- */

static bool start(llmprof_lineedit *edit, const char *program) {
  edit->el = el_init(program, stdin, stdout, stderr);
  edit->history = history_init();
  HistEvent event;
  if (!edit->el || !edit->history) return false;
  history(edit->history, &event, H_SETSIZE, HISTORY_LINES);
  history(edit->history, &event, H_SETUNIQUE, 1);
  el_set(edit->el, EL_CLIENTDATA, edit);
  el_set(edit->el, EL_PROMPT, prompt_of);
  el_set(edit->el, EL_EDITOR, "emacs");
  el_set(edit->el, EL_HIST, history, edit->history);
  el_set(edit->el, EL_GETCFN, read_key);
  /* el_set would copy the two strings, and never free the copies */
  el_wset(edit->el, EL_ADDFN, L"llmprof-complete", L"Complete the word",
          complete);
  el_set(edit->el, EL_BIND, "^I", "llmprof-complete", NULL);
  el_set(edit->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
  el_source(edit->el, NULL);
  return true;
}

llmprof_lineedit *llmprof_lineedit_new(const char *program,
                                       llmprof_error *err) {
  if (!isatty(STDIN_FILENO)) {
    llmprof_fail(err, LLMPROF_UNSUPPORTED, "standard input is no terminal");
    return NULL;
  }
  setlocale(LC_CTYPE, "");
  llmprof_lineedit *edit = llmprof_zalloc(1, sizeof *edit);
  if (edit && start(edit, program)) return edit;
  llmprof_lineedit_free(edit);
  return llmprof_fail_nomem(err), NULL;
}

void llmprof_lineedit_free(llmprof_lineedit *edit) {
  if (!edit) return;
  if (edit->el) el_end(edit->el);
  if (edit->history) history_end(edit->history);
  llmprof_free(edit->line);
  llmprof_free(edit);
}

/* ---- reading ---- */

/* Nothing was read: the end of input, or why not. */
static llmprof_typed no_line(int count, llmprof_error *err) {
  int problem = errno;
  if (llmprof_interrupted()) {
    llmprof_fail_interrupted(err);
    return LLMPROF_TYPED_FAILED;
  }
  if (count == 0) return LLMPROF_TYPED_END;
  llmprof_fail_errno(err, problem, "standard input");
  return LLMPROF_TYPED_FAILED;
}

llmprof_typed llmprof_lineedit_read(llmprof_lineedit *edit, const char *prompt,
                                    const char **line, llmprof_error *err) {
  int count = 0;
  edit->prompt = prompt;
  el_resize(edit->el);
  el_set(edit->el, EL_PREP_TERM, 1); /* before the prompt invites typing */
  const char *text = el_gets(edit->el, &count);
  if (!text || count <= 0) {
    llmprof_typed result = no_line(count, err);
    fputc('\n', stdout);
    fflush(stdout);
    return result;
  }
  size_t size = strlen(text);
  if (text[size - 1] == '\n') size--;
  llmprof_free(edit->line);
  edit->line = llmprof_memdup(text, size);
  *line = edit->line;
  if (edit->line) return LLMPROF_TYPED_LINE;
  llmprof_fail_nomem(err);
  return LLMPROF_TYPED_FAILED;
}

llmprof_typed llmprof_lineedit_key(llmprof_lineedit *edit, char key[8],
                                   llmprof_error *err) {
  wchar_t wide = 0;
  el_set(edit->el, EL_PREP_TERM, 1);
  int count = read_key(edit->el, &wide);
  el_set(edit->el, EL_PREP_TERM, 0);
  if (count <= 0) return no_line(count, err);
  mbstate_t state = {0};
  char bytes[MB_LEN_MAX];
  size_t size = wcrtomb(bytes, wide, &state);
  if (size > 7) size = 0;
  memcpy(key, bytes, size);
  key[size] = '\0';
  return LLMPROF_TYPED_LINE;
}

bool llmprof_lineedit_remember(llmprof_lineedit *edit, const char *line) {
  HistEvent event;
  return history(edit->history, &event, H_ENTER, line) >= 0;
}
