/* Keys that rows reach through one index, as what operations have in common is
 * reached through their kind: taken together they are one key, a small number
 * by item. Private to the frame room. */
#ifndef LLMPROF_JOINT_H
#define LLMPROF_JOINT_H

#include "llmprof/frame.h"

typedef struct llmprof_joint {
  llmprof_column column; /* the key: small integers, counted from 0, absent
                            where all keys are */
  uint32_t *numbers;     /* its data, */
  size_t items;          /* so many */
  size_t count;          /* of numbers; 0: there is no such key */
} llmprof_joint;

/* Join the keys that share the index of the first of them, whose places in
 * `keys` are marked; where it has none, or items are not few, there are none,
 * which is no failure. The caller frees it. */
bool llmprof_joint_make(llmprof_joint *joint, llmprof_frame *frame,
                        const size_t *keys, size_t key_count, bool *joined,
                        llmprof_error *err);
void llmprof_joint_free(llmprof_joint *joint);

#endif
