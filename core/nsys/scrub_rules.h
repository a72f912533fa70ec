/* Which texts of an export may be handed on. Nothing is let through for what it
 * is not: a text stays when it has one of the forms that are known. */
#ifndef LLMPROF_SCRUB_RULES_H
#define LLMPROF_SCRUB_RULES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Has the row of a table of names and values a known name and a value of the
 * form that goes with it? */
bool llmprof_scrub_keeps_value(const char *table, const char *name,
                               const char *value);

/* Does a message of nsys consist of its own words and numbers only? */
bool llmprof_scrub_keeps_message(const char *text);

/* As llmprof_text_program for a thread's name that looks like a command; any
 * other as it is. */
void llmprof_scrub_thread(llmprof_buffer *out, const char *name);

/* The name of a function or a library without where its file lies: what follows
 * the last slash of each absolute path in it. */
void llmprof_scrub_place(llmprof_buffer *out, const char *name);

/* Make the rules functions of SQL: scrub_keeps(table, name, value),
 * scrub_message(text) (the text, or what stands for it), scrub_program(name),
 * scrub_thread(name) and scrub_place(name). Returns SQLite's code. */
int llmprof_scrub_functions(sqlite3 *db);

#endif
