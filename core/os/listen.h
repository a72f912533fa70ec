/* A Unix stream socket that others connect to and send lines through. Nothing
 * waits: the listener asks now and then. */
#ifndef LLMPROF_LISTEN_H
#define LLMPROF_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"

typedef struct llmprof_listener llmprof_listener;

enum {
  LLMPROF_LISTEN_PEERS = 256,       /* at once; others wait to be accepted */
  LLMPROF_LISTEN_LINE = 1024 * 1024 /* bytes; a peer with a longer one is cut */
};

/* A socket at a path that is not there yet, for its owner alone; "@NAME": an
 * abstract one, which any user reaches, from any root folder. NULL on failure
 * (RANGE: the path is too long for a socket). */
llmprof_listener *llmprof_listener_open(const char *path, llmprof_error *err);

/* Removes the socket; NULL is fine. */
void llmprof_listener_close(llmprof_listener *listener);

/* A line from a peer, whose numbers count up from 1; bytes NULL: it is gone.
 * Without its line end, valid during the call. False: no more lines now. */
typedef bool (*llmprof_heard)(void *user, uint32_t peer, const char *bytes,
                              size_t size);

/* Hear what has come. False on failure; peers that fail are gone. */
bool llmprof_listener_poll(llmprof_listener *listener, llmprof_heard heard,
                           void *user, llmprof_error *err);

/* Which process connected, and its user: what it says of itself need not be
 * true. False: it is gone, or the system does not say. */
bool llmprof_listener_peer(const llmprof_listener *listener, uint32_t peer,
                           uint32_t *pid, uint32_t *uid);

/* Send bytes to a peer, which are few: what does not fit into its buffer within
 * a second fails (LIMIT). NOTFOUND: it is gone. */
bool llmprof_listener_send(llmprof_listener *listener, uint32_t peer,
                           const char *bytes, size_t size, llmprof_error *err);

#endif
