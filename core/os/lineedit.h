/* Lines typed at a terminal, with editing, history and completion (libedit).
 * Reads standard input and writes standard output; one editor at a time. */
#ifndef LLMPROF_LINEEDIT_H
#define LLMPROF_LINEEDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

typedef struct llmprof_lineedit llmprof_lineedit;

/* NULL on failure: standard input is no terminal (UNSUPPORTED), or out of
 * memory. Sets LC_CTYPE from the environment. `program` is the name that
 * ~/.editrc knows it by. */
llmprof_lineedit *llmprof_lineedit_new(const char *program, llmprof_error *err);
void llmprof_lineedit_free(llmprof_lineedit *edit);

/* What Tab does: `insert` goes in at the cursor, `listing` is shown below the
 * line; NULL is nothing. Both are from llmprof_alloc and are freed for the
 * completer, which gets the line up to the cursor. */
typedef struct llmprof_completion {
  char *insert, *listing;
} llmprof_completion;
typedef void (*llmprof_completer)(void *user, const char *before,
                                  llmprof_completion *completion);
void llmprof_lineedit_complete(llmprof_lineedit *edit,
                               llmprof_completer completer, void *user);

typedef enum llmprof_typed {
  LLMPROF_TYPED_FAILED = -1, /* also INTERRUPTED: by llmprof_interrupt() */
  LLMPROF_TYPED_END,         /* the end of input: Ctrl-D */
  LLMPROF_TYPED_LINE,
} llmprof_typed;

/* Read a line; *line has no newline and lives until the next call. */
llmprof_typed llmprof_lineedit_read(llmprof_lineedit *edit, const char *prompt,
                                    const char **line, llmprof_error *err);

/* Read one key, which is not shown: its bytes as in UTF-8. */
llmprof_typed llmprof_lineedit_key(llmprof_lineedit *edit, char key[8],
                                   llmprof_error *err);

/* Add to the history, which has 1000 lines at most, none twice in a row. False:
 * out of memory. */
bool llmprof_lineedit_remember(llmprof_lineedit *edit, const char *line);

#endif
