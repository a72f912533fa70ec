/* Names begin alike, and there may be a million. Those that do not begin as
 * most do are put aside; of the others each has the eight bytes behind its id,
 * and goes by as many bits of them, of those in which they differ, as make a
 * few thousand places. What is in one place goes by the next bits, and by the
 * next eight bytes where these are all the same. */
#include "frame/text_order.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/crew.h"
#include "frame/counting_sort.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

/* DEEP: eights of bytes. What is equal up to there is compared; each of their
 * bytes may be a call further down, and the stack may be small. */
enum {
  FEW = 24, /* are sorted by insertion */
  DEEP = 5,
  BYTE = 256,
  BITS = 12,       /* that a text goes by at once, at the most */
  SAMPLE = 256,    /* texts that say how most begin */
  BLOCK = 1 << 14, /* texts that a thread takes at a time */
};

/* Texts and the bytes that they go by, side by side. */
typedef struct keyed {
  uint64_t *keys; /* 0 behind the end of a text */
  uint32_t *ids;
} keyed;

typedef struct ordering {
  const llmprof_strings *strings;
  keyed texts, spare;
  size_t count;
  size_t most; /* of the texts begin alike, */
  size_t from; /* so many bytes, as this one: */
  uint32_t like;
  size_t *alike;  /* by block: how many of its do */
  uint32_t *ends; /* of places of all that do */
  size_t places;
} ordering;

/* Texts that are equal up to `from`, where their keys are. */
typedef struct stretch {
  keyed texts, spare; /* one of which has the ids where sorted ones go */
  uint32_t *sorted;
  size_t count, from;
  unsigned depth; /* eights of bytes before */
} stretch;

/* ---- texts ---- */

typedef struct text {
  const char *bytes;
  size_t size;
  uint32_t id;
} text;

static text text_of(const llmprof_strings *strings, uint32_t id) {
  text t = {.id = id};
  t.bytes = llmprof_strings_get(strings, id, &t.size);
  return t;
}

static int compare_text(const void *left, const void *right) {
  const text *a = left, *b = right;
  int order = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);
  if (order) return order;
  return (a->size > b->size) - (a->size < b->size);
}

static bool is_before(const llmprof_strings *strings, uint32_t a, uint32_t b) {
  text one = text_of(strings, a), other = text_of(strings, b);
  return compare_text(&one, &other) < 0;
}

/* Into `sorted`. */
static bool compare_all(const llmprof_strings *strings, const stretch *s) {
  text *list = llmprof_alloc(s->count, sizeof *list);
  if (!list) return false;
  for (size_t i = 0; i < s->count; i++)
    list[i] = text_of(strings, s->texts.ids[i]);
  qsort(list, s->count, sizeof *list, compare_text);
  for (size_t i = 0; i < s->count; i++) s->sorted[i] = list[i].id;
  llmprof_free(list);
  return true;
}

/* Into `sorted`, with the keys in their order, too. */
static void insert_all(const llmprof_strings *strings, const stretch *s) {
  uint64_t *keys = s->texts.keys;
  for (size_t i = 0; i < s->count; i++) {
    uint64_t key = keys[i];
    uint32_t id = s->texts.ids[i];
    size_t j = i;
    for (; j &&
           (key < keys[j - 1] ||
            (key == keys[j - 1] && is_before(strings, id, s->sorted[j - 1])));
         j--) {
      keys[j] = keys[j - 1];
      s->sorted[j] = s->sorted[j - 1];
    }
    keys[j] = key;
    s->sorted[j] = id;
  }
}

static size_t common_size(text a, text b, size_t from) {
  size_t most = a.size < b.size ? a.size : b.size, at = from;
  while (at < most && a.bytes[at] == b.bytes[at]) at++;
  return at < most ? at : most;
}

/* ---- keys ---- */

static uint64_t key_at(text t, size_t from) {
  uint64_t key = 0;
  if (from < t.size)
    memcpy(&key, t.bytes + from,
           t.size - from < sizeof key ? t.size - from : sizeof key);
  return be64toh(key);
}

/* Those of the bytes behind what all texts have in common. */
static void load_keys(const llmprof_strings *strings, stretch *s) {
  text first = text_of(strings, s->texts.ids[0]);
  size_t common = first.size;
  for (size_t i = 1; i < s->count && common > s->from; i++) {
    size_t size =
        common_size(first, text_of(strings, s->texts.ids[i]), s->from);
    if (size < common) common = size;
  }
  s->from = common;
  for (size_t i = 0; i < s->count; i++)
    s->texts.keys[i] = key_at(text_of(strings, s->texts.ids[i]), common);
}

/* The bits in which keys differ. */
static uint64_t differences(const uint64_t *keys, size_t count) {
  uint64_t bits = 0;
  for (size_t i = 1; i < count; i++) bits |= keys[i] ^ keys[0];
  return bits;
}

/* Those of the keys, or of the first bytes behind these. 0: it is too deep. */
static uint64_t find_differences(const llmprof_strings *strings, stretch *s) {
  uint64_t bits = differences(s->texts.keys, s->count);
  for (; !bits && s->depth < DEEP; s->depth++) {
    load_keys(strings, s);
    bits = differences(s->texts.keys, s->count);
  }
  return bits;
}

/* ---- places ---- */

/* What of a key says its place: in each of some bytes the bits between the
 * first and the last one that differ. */
typedef struct plan {
  int bytes, bits;
  uint8_t shift[sizeof(uint64_t)], width[sizeof(uint64_t)];
} plan;

/* At least those of one byte. */
static plan plan_places(uint64_t differ, int most) {
  plan p = {0};
  for (int shift = 56; shift >= 0; shift -= 8) {
    unsigned byte = (unsigned)(differ >> shift) & (BYTE - 1);
    if (!byte) continue;
    int low = __builtin_ctz(byte), width = 32 - __builtin_clz(byte) - low;
    if (p.bytes && p.bits + width > most) break;
    p.shift[p.bytes] = (uint8_t)(shift + low);
    p.width[p.bytes++] = (uint8_t)width;
    p.bits += width;
  }
  return p;
}

static inline size_t place_of(const plan *p, uint64_t key) {
  size_t place = 0;
  for (int i = 0; i < p->bytes; i++)
    place = place << p->width[i] |
            (key >> p->shift[i] & (((uint64_t)1 << p->width[i]) - 1));
  return place;
}

/* Texts by place into the spare room. */
typedef struct scattering {
  const plan *p;
  const stretch *s;
} scattering;

static void count_some(void *user, size_t first, size_t end, uint32_t *counts) {
  const scattering *c = user;
  for (size_t i = first; i < end; i++)
    counts[place_of(c->p, c->s->texts.keys[i])]++;
}

static void put_some(void *user, size_t first, size_t end, uint32_t *next) {
  const scattering *c = user;
  const stretch *s = c->s;
  for (size_t i = first; i < end; i++) {
    uint32_t *at = &next[place_of(c->p, s->texts.keys[i])];
    s->spare.keys[*at] = s->texts.keys[i];
    s->spare.ids[(*at)++] = s->texts.ids[i];
  }
}

/* All of them; where each place ends. */
static void scatter(const plan *p, const stretch *s, uint32_t *ends) {
  size_t places = (size_t)1 << p->bits;
  scattering c = {p, s};
  uint32_t sum = 0;
  memset(ends, 0, places * sizeof *ends);
  count_some(&c, 0, s->count, ends);
  for (size_t place = 0; place < places; place++) {
    uint32_t here = ends[place];
    ends[place] = sum;
    sum += here;
  }
  put_some(&c, 0, s->count, ends);
}

/* The same by several threads; false when out of memory. */
static bool scatter_many(const plan *p, const stretch *s, uint32_t *ends) {
  scattering c = {p, s};
  const llmprof_counting_sort sort = {.items = s->count,
                                      .places = (size_t)1 << p->bits,
                                      .count = count_some,
                                      .put = put_some,
                                      .user = &c};
  return llmprof_sort_by_place(&sort, ends);
}

/* What was scattered to places from `begin` on. */
static stretch piece_of(const stretch *s, size_t begin, size_t end) {
  stretch piece = *s;
  piece.texts = (keyed){s->spare.keys + begin, s->spare.ids + begin};
  piece.spare = (keyed){s->texts.keys + begin, s->texts.ids + begin};
  piece.sorted += begin;
  piece.count = end - begin;
  return piece;
}

static bool sort_places(const llmprof_strings *strings, const stretch *s,
                        const uint32_t *ends, size_t first, size_t end);

/* For fewer texts than places it would be more work to look at these. */
static int most_bits(size_t count) {
  int bits = 64 - __builtin_clzll(count);
  return bits < BITS ? bits : BITS;
}

static bool sort_stretch(const llmprof_strings *strings, stretch s) {
  uint32_t few[BYTE], *ends = few;
  if (s.count <= FEW) {
    insert_all(strings, &s);
    return true;
  }
  uint64_t differ = find_differences(strings, &s);
  if (!differ) return compare_all(strings, &s);
  plan p = plan_places(differ, most_bits(s.count));
  size_t places = (size_t)1 << p.bits;
  if (places > BYTE && !(ends = llmprof_alloc(places, sizeof *ends)))
    return false;
  scatter(&p, &s, ends);
  bool ok = sort_places(strings, &s, ends, 0, places);
  if (ends != few) llmprof_free(ends);
  return ok;
}

static bool sort_places(const llmprof_strings *strings, const stretch *s,
                        const uint32_t *ends, size_t first, size_t end) {
  size_t begin = first ? ends[first - 1] : 0;
  for (size_t place = first; place < end; begin = ends[place++]) {
    if (ends[place] - begin == 1)
      s->sorted[begin] = s->spare.ids[begin];
    else if (ends[place] > begin &&
             !sort_stretch(strings, piece_of(s, begin, ends[place])))
      return false;
  }
  return true;
}

/* ---- how most begin ---- */

/* Bytes that seven of eight of some texts have in common with the middle one.
 */
static void sample(ordering *o) {
  size_t sizes[SAMPLE], step = o->count / SAMPLE;
  o->like = o->texts.ids[o->count / 2];
  text like = text_of(o->strings, o->like);
  if (!step) return;
  for (size_t i = 0; i < SAMPLE; i++) {
    size_t size =
        common_size(like, text_of(o->strings, o->texts.ids[i * step]), 0);
    size_t at = i;
    for (; at && sizes[at - 1] > size; at--) sizes[at] = sizes[at - 1];
    sizes[at] = size;
  }
  o->from = sizes[SAMPLE / 8];
}

static bool is_alike(const ordering *o, text like, text other) {
  return other.size >= o->from && !memcmp(like.bytes, other.bytes, o->from);
}

/* Those of a block that begin alike come to its front. */
static bool look_at_block(void *user, size_t worker, size_t block,
                          llmprof_error *err) {
  const ordering *o = user;
  size_t first = block * BLOCK, left = o->count - first, at = first;
  size_t end = first + (left < BLOCK ? left : BLOCK);
  text like = text_of(o->strings, o->like);
  (void)worker;
  (void)err;
  for (size_t i = first; i < end; i++) {
    uint32_t id = o->texts.ids[i];
    text t = text_of(o->strings, id);
    if (!is_alike(o, like, t)) continue;
    o->texts.ids[i] = o->texts.ids[at];
    o->texts.ids[at] = id;
    o->texts.keys[at++] = key_at(t, o->from);
  }
  o->alike[block] = at - first;
  return !llmprof_interrupted();
}

/* Then those of all blocks come to the front. */
static void gather(ordering *o, size_t blocks) {
  for (size_t block = 0; block < blocks; block++) {
    size_t first = block * BLOCK;
    for (size_t i = first; i < first + o->alike[block]; i++, o->most++) {
      uint32_t id = o->texts.ids[i];
      o->texts.ids[i] = o->texts.ids[o->most];
      o->texts.ids[o->most] = id;
      o->texts.keys[o->most] = o->texts.keys[i];
    }
  }
}

static bool run(ordering *o, llmprof_crew_step work, size_t parts) {
  const llmprof_crew crew = {.parts = parts, .work = work, .user = o};
  return llmprof_crew_run(&crew, llmprof_crew_size(parts), NULL);
}

static bool find_most(ordering *o) {
  size_t blocks = (o->count + BLOCK - 1) / BLOCK;
  o->alike = llmprof_alloc(blocks, sizeof *o->alike);
  if (!o->alike) return false;
  sample(o);
  if (!run(o, look_at_block, blocks)) return false;
  gather(o, blocks);
  return true;
}

/* ---- all ---- */

static stretch stretch_of(const ordering *o, size_t first, size_t count) {
  return (stretch){.texts = {o->texts.keys + first, o->texts.ids + first},
                   .spare = {o->spare.keys + first, o->spare.ids + first},
                   .sorted = o->texts.ids + first,
                   .count = count};
}

/* Places from that of text part * BLOCK of the sorted ones to that of the next
 * part's. */
static size_t first_place(const ordering *o, size_t part) {
  size_t low = 0, high = o->places;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (o->ends[middle] <= part * BLOCK)
      low = middle + 1;
    else
      high = middle;
  }
  return part ? low : 0;
}

static bool sort_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  const ordering *o = user;
  stretch s = stretch_of(o, 0, o->most);
  s.from = o->from;
  (void)worker;
  (void)err; /* whoever asks for the order tells why there is none */
  size_t end =
      (part + 1) * BLOCK < o->most ? first_place(o, part + 1) : o->places;
  return !llmprof_interrupted() &&
         sort_places(o->strings, &s, o->ends, first_place(o, part), end);
}

static bool sort_most(ordering *o) {
  stretch s = stretch_of(o, 0, o->most);
  uint64_t differ = differences(s.texts.keys, s.count);
  s.from = o->from;
  if (!differ) return sort_stretch(o->strings, s);
  plan p = plan_places(differ, BITS);
  o->places = (size_t)1 << p.bits;
  o->ends = llmprof_alloc(o->places, sizeof *o->ends);
  if (!o->ends || !scatter_many(&p, &s, o->ends)) return false;
  return run(o, sort_part, (o->most + BLOCK - 1) / BLOCK);
}

/* The others, behind those; then those that come before these go there. */
static bool sort_others(ordering *o) {
  size_t count = o->count - o->most, before = 0;
  stretch s = stretch_of(o, o->most, count);
  for (size_t i = 0; i < count; i++)
    s.texts.keys[i] = key_at(text_of(o->strings, s.texts.ids[i]), 0);
  if (!sort_stretch(o->strings, s)) return false;
  while (before < count && is_before(o->strings, s.sorted[before], o->like))
    before++;
  uint32_t *first = o->spare.ids;
  memcpy(first, s.sorted, before * sizeof *first);
  memmove(o->texts.ids + before, o->texts.ids, o->most * sizeof *first);
  memcpy(o->texts.ids, first, before * sizeof *first);
  return true;
}

bool llmprof_order_texts(const llmprof_strings *strings, uint32_t *ids,
                         size_t count) {
  if (count < 2) return true;
  ordering o = {.strings = strings, .count = count};
  o.texts = (keyed){llmprof_alloc(count, sizeof *o.texts.keys), ids};
  o.spare = (keyed){llmprof_alloc(count, sizeof *o.spare.keys),
                    llmprof_alloc(count, sizeof *o.spare.ids)};
  bool ok = o.texts.keys && o.spare.keys && o.spare.ids && find_most(&o) &&
            sort_most(&o) && sort_others(&o);
  llmprof_free(o.texts.keys);
  llmprof_free(o.spare.keys);
  llmprof_free(o.spare.ids);
  llmprof_free(o.alike);
  llmprof_free(o.ends);
  return ok;
}
