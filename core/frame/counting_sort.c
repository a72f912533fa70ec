#include "frame/counting_sort.h"

#include "base/crew.h"
#include "llmprof/alloc.h"

enum {
  MANY = 1 << 16 /* items that are worth a thread */
};

typedef struct sorting {
  const llmprof_counting_sort *of;
  llmprof_counting_sort_step step;
  size_t parts;
  uint32_t *by_place; /* of each part, one behind the other */
} sorting;

static bool do_part(void *user, size_t worker, size_t part,
                    llmprof_error *err) {
  const sorting *s = user;
  size_t items = s->of->items;
  (void)worker;
  (void)err;
  s->step(s->of->user, items * part / s->parts, items * (part + 1) / s->parts,
          s->by_place + part * s->of->places);
  return true;
}

static void run(sorting *s, llmprof_counting_sort_step step) {
  const llmprof_crew crew = {.parts = s->parts, .work = do_part, .user = s};
  s->step = step;
  (void)llmprof_crew_run(&crew, s->parts, NULL); /* no part fails */
}

/* Numbers of items become where the first one goes. */
static void add_up(const sorting *s, uint32_t *ends) {
  uint32_t sum = 0;
  for (size_t place = 0; place < s->of->places; place++) {
    for (size_t part = 0; part < s->parts; part++) {
      uint32_t *at = &s->by_place[part * s->of->places + place], here = *at;
      *at = sum;
      sum += here;
    }
    ends[place] = sum;
  }
}

bool llmprof_sort_by_place(const llmprof_counting_sort *sort, uint32_t *ends) {
  sorting s = {.of = sort, .parts = llmprof_crew_size(sort->items / MANY + 1)};
  s.by_place = llmprof_zalloc(s.parts * sort->places, sizeof *s.by_place);
  if (!s.by_place) return false;
  run(&s, sort->count);
  add_up(&s, ends);
  run(&s, sort->put);
  llmprof_free(s.by_place);
  return true;
}
