/* GPU operations, details of kernels, API calls and stacks of a spool. */
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "spool/spool_internal.h"

bool spool_shows(const spool_section *section, int64_t *start, int64_t *end) {
  if (*start == 0 || *end < *start || spool_hides(section, *start))
    return false;
  *start = spool_time(section, *start);
  *end = spool_time(section, *end);
  return *start != LLMPROF_ABSENT && *end != LLMPROF_ABSENT;
}

static bool name_of(spool_trace *t, uint32_t string,
                    llmprof_kernel_name *name) {
  return llmprof_kernel_names_get(&t->names, t->builder, string, name);
}

/* ---- operations ---- */

static uint32_t known(uint32_t id) {
  return id == SPOOL_NO_ID ? LLMPROF_NONE : id;
}

/* Is it a part of the timeline? Then its times are those of the trace. */
static bool is_shown(const spool_trace *t, const spool_item *item,
                     spool_op *op) {
  return !op->replayed &&
         spool_shows(&t->sections.all[item->section], &op->start, &op->end) &&
         !spool_has_wrong_end(t, item);
}

/* What is not said of the row yet. */
static bool add_op(const spool_trace *t, const spool_item *item,
                   llmprof_op_row *row, llmprof_error *err) {
  const spool_sections *s = &t->sections;
  spool_op op = spool_op_of(item);
  llmprof_place place = {.context = known(op.context),
                         .stream = known(op.stream),
                         .device = LLMPROF_NONE};
  if (!is_shown(t, item, &op)) return true;
  row->start = op.start;
  row->end = op.end;
  row->correlation = op.correlation;
  if (op.device != SPOOL_NO_ID)
    place.device = spool_device_number(s, item->section, op.device);
  if (!spool_process_row(t->builder, &s->all[item->section], &place.process) ||
      !llmprof_builder_add_place(t->builder, &place, &row->place))
    return llmprof_fail_nomem(err);
  return llmprof_builder_add_op(t->builder, row, err);
}

/* The kernel of a record; false: it is no part of the timeline. */
static bool get_kernel(const spool_trace *t, const spool_item *item,
                       spool_kernel *kernel) {
  spool_op op = spool_op_of(item);
  spool_item_get(item, kernel, sizeof *kernel);
  return is_shown(t, item, &op);
}

static bool take_kernel(void *user, const spool_item *item,
                        llmprof_error *err) {
  spool_trace *t = user;
  spool_kernel kernel;
  llmprof_kernel_name name;
  llmprof_op_row row = {.kind = LLMPROF_KERNEL};
  if (!get_kernel(t, item, &kernel)) return true;
  uint32_t mangled =
      spool_file_string(&t->sections.file, item->section, kernel.name);
  if (!name_of(t, mangled, &name)) return llmprof_fail_nomem(err);
  row.name = name.full;
  return add_op(t, item, &row, err);
}

/* CUPTI's number of a kind of memory. */
static llmprof_host_memory memory_of(uint8_t kind) {
  if (kind == 0) return LLMPROF_MEMORY_UNKNOWN;
  if (kind == 1) return LLMPROF_MEMORY_PAGEABLE;
  return kind == 2 ? LLMPROF_MEMORY_PINNED : LLMPROF_MEMORY_OTHER;
}

static llmprof_host_memory host_side(const spool_memcpy *copy) {
  if (copy->copy_kind == LLMPROF_COPY_HOST_TO_DEVICE)
    return memory_of(copy->src_kind);
  if (copy->copy_kind == LLMPROF_COPY_DEVICE_TO_HOST)
    return memory_of(copy->dst_kind);
  return LLMPROF_MEMORY_UNKNOWN;
}

static int64_t bytes_of(uint64_t bytes) {
  return bytes > INT64_MAX ? LLMPROF_ABSENT : (int64_t)bytes;
}

static bool take_copy(void *user, const spool_item *item, llmprof_error *err) {
  const spool_trace *t = user;
  spool_memcpy copy;
  spool_item_get(item, &copy, sizeof copy);
  llmprof_op_row row = {.kind = LLMPROF_COPY,
                        .bytes = bytes_of(copy.bytes),
                        .copy_kind = copy.copy_kind < LLMPROF_COPY_KINDS
                                         ? (llmprof_copy_kind)copy.copy_kind
                                         : LLMPROF_COPY_UNKNOWN,
                        .host_memory = host_side(&copy)};
  return llmprof_builder_op_name(t->builder, row.kind, row.copy_kind, NULL,
                                 &row.name)
             ? add_op(t, item, &row, err)
             : llmprof_fail_nomem(err);
}

static bool take_set(void *user, const spool_item *item, llmprof_error *err) {
  const spool_trace *t = user;
  spool_memset set;
  spool_item_get(item, &set, sizeof set);
  llmprof_op_row row = {.kind = LLMPROF_SET, .bytes = bytes_of(set.bytes)};
  return llmprof_builder_op_name(t->builder, row.kind, 0, NULL, &row.name)
             ? add_op(t, item, &row, err)
             : llmprof_fail_nomem(err);
}

static bool take_graph(void *user, const spool_item *item, llmprof_error *err) {
  const spool_trace *t = user;
  llmprof_op_row row = {.kind = LLMPROF_GRAPH, .bytes = LLMPROF_ABSENT};
  return llmprof_builder_op_name(t->builder, row.kind, 0, NULL, &row.name)
             ? add_op(t, item, &row, err)
             : llmprof_fail_nomem(err);
}

bool spool_load_ops(spool_trace *trace, llmprof_error *err) {
  static const struct {
    spool_kind kind;
    spool_take take;
  } passes[] = {
      {SPOOL_KERNEL, take_kernel},
      {SPOOL_MEMCPY, take_copy},
      {SPOOL_MEMSET, take_set},
      {SPOOL_GRAPH, take_graph},
  };
  bool ok = spool_find_wrong_ends(trace, err);
  for (size_t i = 0; ok && i < sizeof passes / sizeof *passes; i++)
    ok = spool_file_each(&trace->sections.file, SPOOL_BIT(passes[i].kind),
                         passes[i].take, trace, err);
  return ok;
}

/* ---- details ---- */

static bool take_detail(void *user, const spool_item *item,
                        llmprof_error *err) {
  spool_trace *t = user;
  spool_kernel kernel;
  llmprof_kernel_name name;
  if (!get_kernel(t, item, &kernel)) return true;
  llmprof_detail_row row = {
      .mangled_name =
          spool_file_string(&t->sections.file, item->section, kernel.name),
      .graph_node = kernel.graph_node && kernel.graph_node <= INT64_MAX
                        ? (int64_t)kernel.graph_node
                        : LLMPROF_ABSENT,
      .shape = {.registers = kernel.registers,
                .static_shared = kernel.static_shared,
                .dynamic_shared = kernel.dynamic_shared},
  };
  for (int i = 0; i < 3; i++) {
    row.shape.grid[i] = kernel.grid[i];
    row.shape.block[i] = kernel.block[i];
  }
  if (!name_of(t, row.mangled_name, &name)) return llmprof_fail_nomem(err);
  row.short_name = name.base;
  return llmprof_builder_add_detail(t->builder, &row, err);
}

bool spool_load_details(spool_trace *trace, llmprof_error *err) {
  return spool_file_each(&trace->sections.file, SPOOL_BIT(SPOOL_KERNEL),
                         take_detail, trace, err);
}

/* ---- API calls ---- */

/* A call of the driver's interface, which may be inside of one of the
 * runtime's: both then have its correlation, in whatever order they came. */
typedef struct driver_call {
  uint32_t section, correlation;
} driver_call;

typedef struct calls_loader {
  spool_trace *trace;
  llmprof_intern drivers; /* of driver_call */
  bool *inside;           /* by driver call */
} calls_loader;

static spool_call get_call(const spool_item *item, driver_call *key) {
  spool_call call;
  spool_item_get(item, &call, sizeof call);
  *key = (driver_call){item->section, call.correlation};
  return call;
}

static bool take_driver_call(void *user, const spool_item *item,
                             llmprof_error *err) {
  calls_loader *l = user;
  driver_call key;
  uint32_t id;
  if (!get_call(item, &key).driver) return true;
  return llmprof_intern_add(&l->drivers, &key, &id) || llmprof_fail_nomem(err);
}

static bool take_outer_call(void *user, const spool_item *item,
                            llmprof_error *err) {
  const calls_loader *l = user;
  driver_call key;
  (void)err;
  if (get_call(item, &key).driver) return true;
  uint32_t id = llmprof_intern_find(&l->drivers, &key);
  if (id != UINT32_MAX) l->inside[id] = true;
  return true;
}

static bool is_inside(const calls_loader *l, const driver_call *key) {
  return l->inside[llmprof_intern_find(&l->drivers, key)];
}

static bool take_call(void *user, const spool_item *item, llmprof_error *err) {
  const calls_loader *l = user;
  const spool_sections *s = &l->trace->sections;
  const spool_section *section = &s->all[item->section];
  driver_call key;
  spool_call call = get_call(item, &key);
  llmprof_call_row row = {
      .start = call.start,
      .end = call.end,
      .correlation = call.correlation,
      .name = spool_file_string(&s->file, item->section, call.name)};
  if (spool_is_after(section, call.start) ||
      !spool_shows(section, &row.start, &row.end) ||
      (call.driver && is_inside(l, &key)))
    return true;
  if (!spool_thread_row(l->trace->builder, section, call.tid, &row.thread))
    return llmprof_fail_nomem(err);
  return llmprof_builder_add_call(l->trace->builder, &row, err);
}

static bool each_call(calls_loader *l, spool_take take, llmprof_error *err) {
  return spool_file_each(&l->trace->sections.file, SPOOL_BIT(SPOOL_CALL), take,
                         l, err);
}

/* Which calls are inside of others. */
static bool find_inside(calls_loader *l, llmprof_error *err) {
  if (!each_call(l, take_driver_call, err)) return false;
  if (l->drivers.count == 0) return true;
  l->inside = llmprof_zalloc(l->drivers.count, sizeof *l->inside);
  if (!l->inside) return llmprof_fail_nomem(err);
  return each_call(l, take_outer_call, err);
}

bool spool_load_calls(spool_trace *trace, llmprof_error *err) {
  calls_loader l = {.trace = trace};
  llmprof_intern_init(&l.drivers, sizeof(driver_call));
  bool ok = find_inside(&l, err) && each_call(&l, take_call, err);
  llmprof_intern_free(&l.drivers);
  llmprof_free(l.inside);
  return ok;
}

/* ---- lines of source that launched operations ---- */

/* UINT32_MAX, LLMPROF_NONE: the number means nothing in the section. */
static uint32_t get_number(const spool_numbers *n, uint32_t section,
                           uint32_t number) {
  const uint32_t key[2] = {section, number};
  return number ? spool_numbers_get(n, key) : LLMPROF_NONE;
}

typedef struct stacks_loader {
  spool_trace *trace;
  spool_numbers paths, roots, frames, stacks; /* strings, strings, rows, rows */
  uint32_t root;                              /* string: of a module */
  bool several;                               /* modules have more than one */
} stacks_loader;

static const spool_file *file_of(const stacks_loader *l) {
  return &l->trace->sections.file;
}

static bool take_module(void *user, const spool_item *item,
                        llmprof_error *err) {
  stacks_loader *l = user;
  spool_module module;
  spool_item_get(item, &module, sizeof module);
  const uint32_t key[2] = {item->section, module.module};
  uint32_t root = spool_file_string(file_of(l), item->section, module.root);
  if (!module.known || root == LLMPROF_NO_STRING) return true;
  l->several |= l->root != LLMPROF_NO_STRING && l->root != root;
  l->root = root;
  return (spool_numbers_set(
              &l->paths, key,
              spool_file_string(file_of(l), item->section, module.path)) &&
          spool_numbers_set(&l->roots, key, root)) ||
         llmprof_fail_nomem(err);
}

/* "layers.7.mlp"; with its class in front where there are several models; that
 * alone of the outermost module. */
static bool module_name(const stacks_loader *l, uint32_t section,
                        uint32_t module, uint32_t *string) {
  const llmprof_strings *pool = llmprof_builder_strings(l->trace->builder);
  uint32_t path = get_number(&l->paths, section, module);
  uint32_t root = get_number(&l->roots, section, module);
  *string = path == LLMPROF_NONE ? root : path;
  if (path == LLMPROF_NONE || !l->several) return true;
  llmprof_buffer name = {0};
  llmprof_buffer_printf(&name, "%s.%s", llmprof_strings_get(pool, root, NULL),
                        llmprof_strings_get(pool, path, NULL));
  bool ok = !name.failed && llmprof_builder_text(l->trace->builder, name.bytes,
                                                 name.size, string);
  llmprof_buffer_free(&name);
  return ok;
}

static bool take_source_frame(void *user, const spool_item *item,
                              llmprof_error *err) {
  stacks_loader *l = user;
  spool_source_frame frame;
  spool_item_get(item, &frame, sizeof frame);
  const uint32_t key[2] = {item->section, frame.frame};
  llmprof_source_frame row = {
      .file = spool_file_string(file_of(l), item->section, frame.file),
      .function = spool_file_string(file_of(l), item->section, frame.function),
      .line = frame.line ? frame.line : LLMPROF_NONE};
  uint32_t id;
  llmprof_kernel_name name = {.full = row.function};
  const char *function = llmprof_strings_get(
      llmprof_builder_strings(l->trace->builder), row.function, NULL);
  bool is_mangled = function && strncmp(function, "_Z", 2) == 0;
  if (is_mangled && !name_of(l->trace, row.function, &name))
    return llmprof_fail_nomem(err);
  row.function = name.full;
  return row.file == LLMPROF_NO_STRING ||
         (module_name(l, item->section, frame.module, &row.module) &&
          llmprof_builder_add_source_frame(l->trace->builder, &row, &id) &&
          spool_numbers_set(&l->frames, key, id)) ||
         llmprof_fail_nomem(err);
}

static bool take_generated(void *user, const spool_item *item,
                           llmprof_error *err) {
  const stacks_loader *l = user;
  spool_generated generated;
  size_t size;
  spool_item_get(item, &generated, sizeof generated);
  const unsigned char *rest = spool_item_rest(item, &size);
  const llmprof_source_frame line = {
      .file = spool_file_string(file_of(l), item->section, generated.file),
      .line = generated.line};
  llmprof_source_frame made_of[SPOOL_MADE_OF_MOST];
  if (line.file == LLMPROF_NO_STRING || generated.lines > SPOOL_MADE_OF_MOST ||
      generated.lines > size / sizeof(spool_line))
    return true;
  for (uint32_t i = 0; i < generated.lines; i++) {
    spool_line from;
    memcpy(&from, rest + i * sizeof from, sizeof from);
    made_of[i] = (llmprof_source_frame){
        .file = spool_file_string(file_of(l), item->section, from.file),
        .function = spool_file_string(file_of(l), item->section, from.function),
        .line = from.line ? from.line : LLMPROF_NONE,
        .module = spool_file_string(file_of(l), item->section, from.module)};
    if (made_of[i].file == LLMPROF_NO_STRING) return true;
  }
  return llmprof_builder_add_generated(l->trace->builder, &line, made_of,
                                       generated.lines) ||
         llmprof_fail_nomem(err);
}

static bool take_source_stack(void *user, const spool_item *item,
                              llmprof_error *err) {
  stacks_loader *l = user;
  spool_source_stack stack;
  spool_item_get(item, &stack, sizeof stack);
  const uint32_t key[2] = {item->section, stack.stack};
  llmprof_source_stack row = {
      .parent = get_number(&l->stacks, item->section, stack.parent),
      .frame = get_number(&l->frames, item->section, stack.frame)};
  uint32_t id;
  return row.frame == LLMPROF_NONE ||
         (llmprof_builder_add_source_stack(l->trace->builder, &row, &id) &&
          spool_numbers_set(&l->stacks, key, id)) ||
         llmprof_fail_nomem(err);
}

static bool take_op_stack(void *user, const spool_item *item,
                          llmprof_error *err) {
  const stacks_loader *l = user;
  spool_op op = spool_op_of(item);
  return !is_shown(l->trace, item, &op) ||
         llmprof_builder_add_op_stack(
             l->trace->builder, get_number(&l->stacks, item->section, op.stack),
             err);
}

/* A file without any says nothing of operations either. */
static bool load_stacks(stacks_loader *l, llmprof_error *err) {
  static const struct {
    spool_kind kind;
    spool_take take;
  } passes[] = {
      {SPOOL_GENERATED, take_generated},
      {SPOOL_MODULE, take_module},
      {SPOOL_SOURCE_FRAME, take_source_frame},
      {SPOOL_SOURCE_STACK, take_source_stack},
      {SPOOL_KERNEL, take_op_stack},
      {SPOOL_MEMCPY, take_op_stack},
      {SPOOL_MEMSET, take_op_stack},
      {SPOOL_GRAPH, take_op_stack},
  };
  spool_sections *s = &l->trace->sections;
  if (!(s->recorded & SPOOL_BIT(SPOOL_SOURCE_STACK))) return true;
  bool ok = true;
  for (size_t i = 0; ok && i < sizeof passes / sizeof *passes; i++)
    ok = spool_file_each(&s->file, SPOOL_BIT(passes[i].kind), passes[i].take, l,
                         err);
  return ok;
}

bool spool_load_stacks(spool_trace *trace, llmprof_error *err) {
  stacks_loader l = {.trace = trace, .root = LLMPROF_NO_STRING};
  spool_numbers *const all[] = {&l.paths, &l.roots, &l.frames, &l.stacks};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    spool_numbers_init(all[i], 2 * sizeof(uint32_t));
  bool ok = load_stacks(&l, err);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    llmprof_intern_free(all[i]);
  return ok;
}
