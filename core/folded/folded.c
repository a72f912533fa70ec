/* Collapsed stacks: a line for each stack that was
 * sampled, its functions from the outermost inwards with semicolons between, a
 * space, and how often it was seen; what `py-spy record -f raw` and the
 * stackcollapse scripts of flame graph tools write. It may be packed with gzip.
 *
 * The trace has CPU samples and nothing else; they have no times, and no
 * threads. "spin (work.py:12)" is function "spin" of module "work.py". It fails
 * with SYNTAX (a line is no stack with a count), LIMIT (a line is too long, or
 * there are too many samples), EMPTY, IO, NOMEM. */
#include "trace/built_in_readers.h"

#include <string.h>

#include "base/bounds.h"
#include "base/buffer.h"
#include "os/source.h"
#include "text/lex.h"

enum {
  LONGEST_LINE = 1 << 20,
  MOST_FRAMES = 512, /* of a stack, from the innermost outwards */
};

typedef struct reader {
  const char *path;
  llmprof_builder *builder;
  llmprof_source *source;
  llmprof_buffer line; /* one that goes beyond a piece */
  size_t number;       /* of the line, from 1 */
  int64_t samples;
  llmprof_watch watch;
  llmprof_error *err;
} reader;

static bool fail(reader *r, llmprof_code code, const char *what) {
  return llmprof_fail_at(r->err, code, r->path, r->number, 0, "%s", what);
}

/* ---- a frame ---- */

/* The spellings of py-spy (function, and in brackets script and line or
 * library) and perf (the function alone). The module may be empty. */
typedef struct folded_name {
  const char *function, *module;
  size_t function_size, module_size;
  bool nameless; /* only an address: the module stands for it */
} folded_name;

/* Without ":12" at the end. */
static size_t without_line(const char *text, size_t size) {
  size_t at = size - llmprof_lex_digits_at_end(text, size);
  return at && at < size && text[at - 1] == ':' ? at - 1 : size;
}

/* What follows the last slash of an absolute path. */
static void cut_folder(const char **text, size_t *size) {
  if (!*size || **text != '/') return;
  const char *end = *text + *size, *last = end;
  while (last[-1] != '/') last--;
  if (last == end) return;
  *size = (size_t)(end - last);
  *text = last;
}

/* The bracket that the last character closes; NULL without. */
static const char *opening(const char *text, size_t size) {
  size_t depth = 0;
  if (size < 4 || text[size - 1] != ')') return NULL;
  for (size_t at = size; at-- > 0;) {
    depth += text[at] == ')';
    depth -= text[at] == '(';
    if (!depth) return text + at;
  }
  return NULL;
}

static bool is_address(const char *text, size_t size) {
  static const char digits[] = "0123456789abcdefABCDEF";
  if (size < 3 || memcmp(text, "0x", 2) != 0) return false;
  for (size_t at = 2; at < size; at++) {
    if (!memchr(digits, text[at], sizeof digits - 1)) return false;
  }
  return true;
}

/* "process 12:\"...\"": what was called, with all its words, is not told. */
static size_t without_command(const char *text, size_t size) {
  static const char word[] = "process ";
  size_t at = sizeof word - 1;
  if (size <= at || memcmp(text, word, at) != 0) return size;
  while (at < size && llmprof_lex_is_digit(text[at])) at++;
  return at > sizeof word - 1 && at < size && text[at] == ':' ? at : size;
}

/* "spin (work.py:12)" is spin of work.py, wherever in it; "0x7f50 (libc.so.6)"
 * has no name; of "process 12:\"python train.py\"" the command is left out, and
 * of absolute paths what comes before the file's name. */
static folded_name read_name(const char *text, size_t size) {
  folded_name name = {.function = text, .function_size = size, .module = text};
  const char *bracket = opening(text, size);
  if (bracket && bracket > text + 1 && bracket[-1] == ' ' &&
      bracket + 2 < text + size) {
    name.function_size = (size_t)(bracket - 1 - text);
    name.module = bracket + 1;
    name.module_size = (size_t)(text + size - 2 - bracket);
    name.module_size = without_line(name.module, name.module_size);
    cut_folder(&name.module, &name.module_size);
  }
  name.function_size = without_command(name.function, name.function_size);
  cut_folder(&name.function, &name.function_size);
  name.nameless = is_address(name.function, name.function_size);
  return name;
}

/* ---- a line ---- */

/* The number at the end, after a blank; what is before it is the stack. */
static bool read_count(const char *line, size_t *size, int64_t *count) {
  size_t digits = llmprof_lex_digits_at_end(line, *size), at = *size - digits;
  if (!digits || !at || line[at - 1] != ' ' ||
      !llmprof_lex_int(line + at, digits, 10, count) || *count < 1)
    return false;
  *size = at - 1;
  return true;
}

static bool add_name(reader *r, const folded_name *name,
                     llmprof_stack_frame *frame) {
  frame->module = LLMPROF_NO_STRING;
  if (name->module_size &&
      !llmprof_builder_text(r->builder, name->module, name->module_size,
                            &frame->module))
    return false;
  if (!name->nameless)
    return llmprof_builder_text(r->builder, name->function, name->function_size,
                                &frame->function);
  llmprof_buffer text = {0};
  llmprof_buffer_putc(&text, '[');
  if (name->module_size)
    llmprof_buffer_add(&text, name->module, name->module_size);
  else
    llmprof_buffer_puts(&text, "unknown");
  llmprof_buffer_putc(&text, ']');
  bool ok = !text.failed && llmprof_builder_text(r->builder, text.bytes,
                                                 text.size, &frame->function);
  llmprof_buffer_free(&text);
  return ok;
}

/* Where the innermost frames begin, of which this number is kept. */
static const char *kept_frames(const char *stack, const char *end) {
  size_t frames = 1;
  for (const char *at = end; at > stack; at--) {
    if (at[-1] == ';' && frames++ == MOST_FRAMES) return at;
  }
  return stack;
}

/* Frames without a name that call each other are one. */
static bool add_frames(reader *r, const char *at, const char *end,
                       uint32_t *row) {
  llmprof_stack_frame frame, outer = {0};
  bool was_nameless = false;
  while (at < end) {
    const char *stop = memchr(at, ';', (size_t)(end - at));
    if (!stop) stop = end;
    folded_name name = read_name(at, (size_t)(stop - at));
    if (stop > at) {
      frame.parent = *row;
      if (!add_name(r, &name, &frame)) return false;
      bool again =
          name.nameless && was_nameless && frame.function == outer.function;
      if (!again && !llmprof_builder_add_stack_frame(r->builder, &frame, row))
        return false;
      outer = frame;
      was_nameless = name.nameless;
    }
    at = stop + 1;
  }
  return true;
}

static bool take_stack(reader *r, const char *line, size_t size,
                       int64_t count) {
  llmprof_cpu_sample_row sample = {.time = LLMPROF_ABSENT,
                                   .thread = LLMPROF_NONE,
                                   .stack = LLMPROF_NONE,
                                   .weight = count};
  const char *end = line + size, *kept = kept_frames(line, end);
  sample.cut = kept > line;
  if (!add_frames(r, kept, end, &sample.stack))
    return llmprof_fail_nomem(r->err);
  return llmprof_builder_add_cpu_sample(r->builder, &sample, r->err);
}

static bool take_line(reader *r, const char *line, size_t size) {
  int64_t count;
  r->number++;
  if (size && line[size - 1] == '\r') size--;
  if (!size) return true;
  if (!llmprof_watch_go_on(&r->watch, 16, r->path, r->err)) return false;
  if (memchr(line, '\0', size))
    return fail(r, LLMPROF_SYNTAX, "a byte 0: these are no collapsed stacks");
  if (!read_count(line, &size, &count))
    return fail(r, LLMPROF_SYNTAX,
                "a collapsed stack ends with a space and how often it was "
                "sampled: 'main;run 12'");
  if (__builtin_add_overflow(r->samples, count, &r->samples))
    return fail(r, LLMPROF_LIMIT, "more samples than can be counted");
  return take_stack(r, line, size, count);
}

/* ---- the file ---- */

static bool keep_part(reader *r, const char *bytes, size_t size) {
  if (r->line.size + size > LONGEST_LINE) {
    r->number++;
    return fail(r, LLMPROF_LIMIT, "a line of more than 1 MiB");
  }
  llmprof_buffer_add(&r->line, bytes, size);
  return !r->line.failed || llmprof_fail_nomem(r->err);
}

static bool end_line(reader *r, const char *bytes, size_t size) {
  if (!r->line.size && size <= LONGEST_LINE) return take_line(r, bytes, size);
  bool ok =
      keep_part(r, bytes, size) && take_line(r, r->line.bytes, r->line.size);
  llmprof_buffer_clear(&r->line);
  return ok;
}

static bool take_piece(reader *r, const char *at, size_t size) {
  const char *end = at + size, *stop;
  while ((stop = memchr(at, '\n', (size_t)(end - at)))) {
    if (!end_line(r, at, (size_t)(stop - at))) return false;
    at = stop + 1;
  }
  return at == end || keep_part(r, at, (size_t)(end - at));
}

static bool read_all(reader *r) {
  const char *bytes;
  size_t size;
  do {
    if (!llmprof_source_next(r->source, &bytes, &size, r->err) ||
        (size && !take_piece(r, bytes, size)))
      return false;
  } while (size);
  if (r->line.size && !end_line(r, "", 0)) return false;
  return r->samples ||
         llmprof_fail(r->err, LLMPROF_EMPTY, "%s: no stack in it", r->path);
}

/* ---- the reader ---- */

/* Half of the lines in the head or more, but for one that it cuts: a damaged
 * file is read, and says where. */
static llmprof_claim probe(const llmprof_specimen *file, llmprof_error *err) {
  const char *at = (const char *)file->bytes, *end = at + file->size;
  size_t lines = 0, stacks = 0;
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop && lines) break;
    if (!stop) stop = end;
    size_t size = (size_t)(stop - at);
    if (size && at[size - 1] == '\r') size--;
    int64_t count;
    lines += size > 0;
    stacks += size && !memchr(at, '\0', size) && read_count(at, &size, &count);
    at = stop + (stop < end);
  }
  if (lines && stacks * 2 >= lines) return LLMPROF_CLAIM_YES;
  llmprof_fail(err, LLMPROF_SYNTAX, "%s: no collapsed stacks", file->path);
  return LLMPROF_CLAIM_NO;
}

static bool open_file(const char *path, llmprof_builder *builder, void **state,
                      llmprof_error *err) {
  reader r = {.path = path, .builder = builder, .err = err};
  *state = NULL;
  r.source = llmprof_source_open(path, err);
  bool ok = r.source && read_all(&r);
  llmprof_source_close(r.source);
  llmprof_buffer_free(&r.line);
  if (ok) llmprof_builder_recorded(builder, LLMPROF_TABLE_CPU_SAMPLES);
  return ok;
}

const llmprof_reader llmprof_folded_reader = {
    .name = "folded",
    .what = "collapsed stacks (py-spy record -f raw, perf)",
    .probe = probe,
    .open = open_file,
};
