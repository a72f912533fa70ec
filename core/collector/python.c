#include "collector/python.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector/memory.h"
#include "collector/stacks.h"
#include "collector/threads.h"
#include "collector/utf8.h"

enum {
  DEPTH = 192,         /* frames of a stack; what is further out is left */
  TEXT = 1024,         /* bytes of a file's or function's name */
  CACHE = 1 << 16,     /* stacks that are known by their instructions */
  PROBES = 8,          /* places of one in the cache */
  PLACES = 1 << 15,    /* frames that are known by their instructions */
  CODES = 1 << 15,     /* code objects that are known by their addresses */
  IMPLS = 4,           /* of torch's function that calls modules */
  ROOTS = 64,          /* outermost modules */
  NESTED = 40,         /* modules in modules */
  FOUND = 4096,        /* modules that are named in one go */
  LOOKED_AT = 1 << 16, /* and that are looked at for them */
};

/* ---- the interpreter's functions ---- */

typedef void object; /* PyObject, PyThreadState and so on */

#define FUNCTIONS(X)                                                 \
  X(object *, PyGILState_GetThisThreadState, (void))                 \
  X(int, PyGILState_Ensure, (void))                                  \
  X(void, PyGILState_Release, (int))                                 \
  X(object *, PyEval_SaveThread, (void))                             \
  X(void, PyEval_RestoreThread, (object *))                          \
  X(object *, PyEval_GetBuiltins, (void))                            \
  X(object *, PyInterpreterState_Main, (void))                       \
  X(object *, PyInterpreterState_ThreadHead, (object *))             \
  X(object *, PyThreadState_Next, (object *))                        \
  X(object *, PyThreadState_Get, (void))                             \
  X(object *, PyThreadState_GetFrame, (object *))                    \
  X(object *, PyFrame_GetBack, (object *))                           \
  X(object *, PyFrame_GetCode, (object *))                           \
  X(int, PyFrame_GetLasti, (object *))                               \
  X(int, PyFrame_GetLineNumber, (object *))                          \
  X(int, PyCode_Addr2Line, (object *, int))                          \
  X(int, Py_AddPendingCall, (int (*)(void *), void *))               \
  X(int, Py_IsInitialized, (void))                                   \
  X(void, Py_IncRef, (object *))                                     \
  X(void, Py_DecRef, (object *))                                     \
  X(object *, PyObject_GetAttrString, (object *, const char *))      \
  X(object *, PyObject_GenericGetDict, (object *, void *))           \
  X(object *, PyObject_CallFunctionObjArgs, (object *, ...))         \
  X(object *, PyDict_New, (void))                                    \
  X(int, PyDict_SetItemString, (object *, const char *, object *))   \
  X(object *, PyDict_GetItemString, (object *, const char *))        \
  X(int, PyDict_Next, (object *, ptrdiff_t *, object **, object **)) \
  X(object *, PyImport_ImportModule, (const char *))                 \
  X(object *, PyRun_String, (const char *, int, object *, object *)) \
  X(const char *, PyUnicode_AsUTF8, (object *))                      \
  X(unsigned long, PyType_GetFlags, (object *))                      \
  X(void, PyErr_Clear, (void))                                       \
  X(object *, PyWeakref_NewRef, (object *, object *))                \
  X(object *, PyWeakref_GetObject, (object *))                       \
  X(object *, PyCMethod_New, (void *, object *, object *, object *))

static struct {
#define X(result, name, arguments) result(*name) arguments;
  FUNCTIONS(X)
#undef X
  object *(*current)(void); /* the thread state that holds the lock here */
  int (*PyCode_AddWatcher)(int (*)(int, object *)); /* from 3.12 */
  object *None;
  char *Code, *Cell;
} py;

static void *find(const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  for (int minor = 10; !found && minor <= 15; minor++) {
    char file[32];
    snprintf(file, sizeof file, "libpython3.%d.so.1.0", minor);
    void *library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    if (!library) continue;
    found = dlsym(library, name);
    dlclose(library);
  }
  /* What failed is kept for dlerror, and freed once it has been told. */
  if (!found && dlerror()) (void)dlerror();
  return found;
}

/* A pointer of any kind; false: it is not there. */
static bool look_up(void *to, const char *name) {
  void *found = find(name);
  memcpy(to, &found, sizeof found);
  return found != NULL;
}

/* ---- its layout ---- */

/* Offsets in bytes. */
static struct {
  unsigned cframe;        /* in the thread state; 0: there is none */
  unsigned current_frame; /* in the cframe, else in the thread state */
  unsigned interpreter;   /* in the thread state */
  unsigned code, previous, instruction, owner, locals; /* in a frame */
  unsigned file, function, bytecode;                   /* in a code object */
  unsigned ascii, wide; /* where characters of a string lie */
} at;

static unsigned version; /* 0x030c of 3.12 */

#define LOAD(base, offset) (*(char *const *)(const void *)((base) + (offset)))

/* From 3.13 the interpreter says it itself: _Py_DebugOffsets, of words. */
static bool set_layout_said(void) {
  enum {
    FREE_THREADED = 2,
    THREAD = 3 + 3 + 13,
    FRAME = THREAD + 9,
    CODE = FRAME + 6,
    WORDS = CODE + 10,
  };
  uint64_t w[WORDS];
  const char *runtime;
  if (!look_up(&runtime, "_PyRuntime") || memcmp(runtime, "xdebugpy", 8) != 0)
    return false;
  memcpy(w, runtime, sizeof w);
  if (w[FREE_THREADED]) return false;
  at = (__typeof__(at)){.current_frame = (unsigned)w[THREAD + 4],
                        .interpreter = (unsigned)w[THREAD + 3],
                        .previous = (unsigned)w[FRAME + 1],
                        .code = (unsigned)w[FRAME + 2],
                        .instruction = (unsigned)w[FRAME + 3],
                        .locals = (unsigned)w[FRAME + 4],
                        .owner = (unsigned)w[FRAME + 5],
                        .file = (unsigned)w[CODE + 1],
                        .function = (unsigned)w[CODE + 3],
                        .bytecode = (unsigned)w[CODE + 9],
                        .ascii = 40,
                        .wide = 56};
  return true;
}

static bool set_layout(void) {
  static const __typeof__(at) of_3_11 = {.cframe = 56,
                                         .current_frame = 8,
                                         .interpreter = 16,
                                         .code = 32,
                                         .previous = 48,
                                         .instruction = 56,
                                         .owner = 69,
                                         .locals = 72,
                                         .file = 112,
                                         .function = 128,
                                         .bytecode = 184,
                                         .ascii = 48,
                                         .wide = 72};
  static const __typeof__(at) of_3_12 = {.cframe = 56,
                                         .interpreter = 16,
                                         .previous = 8,
                                         .instruction = 56,
                                         .owner = 70,
                                         .locals = 72,
                                         .file = 112,
                                         .function = 128,
                                         .bytecode = 192,
                                         .ascii = 40,
                                         .wide = 56};
  if (version == 0x030d) return set_layout_said();
  at = version == 0x030b ? of_3_11 : of_3_12;
  return version == 0x030b || version == 0x030c;
}

static atomic_int state_now; /* python_state */
static char why[160];

static void set_state(python_state now) {
  atomic_store_explicit(&state_now, (int)now, memory_order_release);
}

const char *python_why(void) {
  return why;
}

static object *main_interpreter;

/* False: `why` says why. */
static bool look(void) {
  const unsigned long *number;
  bool all = true;
  if (!look_up(&number, "Py_Version")) {
    snprintf(why, sizeof why,
             "lines are known of Python 3.11 to 3.13, this one is older");
    return false;
  }
  version = (unsigned)(*number >> 16);
#define X(result, name, arguments) all = look_up(&py.name, #name) && all;
  FUNCTIONS(X)
#undef X
  all =
      look_up(&py.current, version >= 0x030d ? "PyThreadState_GetUnchecked"
                                             : "_PyThreadState_UncheckedGet") &&
      look_up(&py.None, "_Py_NoneStruct") && look_up(&py.Code, "PyCode_Type") &&
      look_up(&py.Cell, "PyCell_Type") && all;
  (void)look_up(&py.PyCode_AddWatcher, "PyCode_AddWatcher");
  if (all && set_layout()) return true;
  snprintf(why, sizeof why,
           "lines are known of Python 3.11 to 3.13 with a GIL, this one is "
           "%u.%u",
           version >> 8, version & 255);
  return false;
}

/* ---- what is known by address ---- */

/* Stacks: 24 bits of number below 40 bits of a hash over instructions and
 * modules. */
static _Atomic uint64_t cache[CACHE];

/* Of all that is known by address: another when some of it has died. Far apart,
 * as addresses are not: the two meet in one hash. */
static _Atomic uint64_t generation;
#define GENERATIONS_APART UINT64_C(0x9e3779b97f4a7c15)

/* Code of Module._wrapped_call_impl. */
static _Atomic uintptr_t impls[IMPLS];

/* With the lock of `stacks`. */
static struct {
  uintptr_t code;
  int32_t offset;
  uint32_t module, number;
} places[PLACES];
static size_t place_count;
static uintptr_t codes[CODES]; /* watched, or pinned: 3.11 tells no deaths */
static size_t code_count;

static atomic_bool watching; /* deaths of code */
static _Thread_local bool inside;

static inline uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0xd6e8feb86659fd93);
  return hash << 25 | hash >> 39;
}

static size_t code_slot(uintptr_t code) {
  size_t slot = mix(1, code >> 4) & (CODES - 1);
  while (codes[slot] && codes[slot] != code) slot = (slot + 1) & (CODES - 1);
  return slot;
}

static bool knows_code(uintptr_t code) {
  return codes[code_slot(code)] != 0;
}

static void forget_addresses(void) {
  memset(codes, 0, sizeof codes);
  memset(places, 0, sizeof places);
  code_count = place_count = 0;
  for (size_t i = 0; i < IMPLS; i++) atomic_store(&impls[i], 0);
  atomic_fetch_add(&generation, GENERATIONS_APART);
}

static uint32_t cache_get(uint64_t key) {
  for (size_t i = 0; i < PROBES; i++) {
    uint64_t there = atomic_load_explicit(&cache[(key + i) & (CACHE - 1)],
                                          memory_order_acquire);
    if (there >> 24 == key >> 24) return (uint32_t)(there & 0xffffff);
  }
  return 0;
}

/* The first that is empty, else one by chance. */
static void cache_put(uint64_t key, uint32_t number) {
  size_t slot = (key + (key >> 32) % PROBES) & (CACHE - 1);
  for (size_t i = 0; i < PROBES; i++)
    if (!atomic_load(&cache[(key + i) & (CACHE - 1)])) {
      slot = (key + i) & (CACHE - 1);
      break;
    }
  atomic_store_explicit(&cache[slot], key >> 24 << 24 | number,
                        memory_order_release);
}

/* ---- walking ---- */

/* A frame of the calling thread, the innermost first. */
typedef struct raw {
  uintptr_t code;
  int32_t offset; /* of the instruction, in bytes */
  uintptr_t self; /* the module that it calls, or 0 */
} raw;

/* Where the lock is given up the state of the thread stays its own. 3.11 has
 * one current state for all threads, which may be another's. */
static inline const char *thread_state(void) {
  const char *thread = version >= 0x030c ? py.current() : NULL;
  if (!thread) thread = py.PyGILState_GetThisThreadState();
  if (!thread || LOAD(thread, at.interpreter) != (char *)main_interpreter)
    return NULL;
  return thread;
}

static inline const char *first_frame(const char *thread) {
  if (at.cframe) thread = LOAD(thread, at.cframe);
  return thread ? LOAD(thread, at.current_frame) : NULL;
}

/* The interpreter's entry from C, which is no function of Python's? */
static inline bool is_entry(const char *frame) {
  return (unsigned char)frame[at.owner] >= 3;
}

static inline bool is_impl(uintptr_t code) {
  for (size_t i = 0; i < IMPLS; i++) {
    uintptr_t there = atomic_load_explicit(&impls[i], memory_order_relaxed);
    if (there == code || !there) return there != 0;
  }
  return false;
}

/* The first parameter, which may have moved into a cell. */
static inline uintptr_t self_of(const char *frame) {
  const char *first = LOAD(frame, at.locals);
  if (first && LOAD(first, 8) == py.Cell) first = LOAD(first, 16);
  return (uintptr_t)first;
}

static inline uint64_t key_of(const char *frame) {
  uint64_t key = atomic_load_explicit(&generation, memory_order_acquire);
  unsigned depth = 0;
  for (; frame && depth < DEPTH; frame = LOAD(frame, at.previous)) {
    if (is_entry(frame)) continue;
    key = mix(key, (uintptr_t)LOAD(frame, at.instruction));
    if (is_impl((uintptr_t)LOAD(frame, at.code)))
      key = mix(key, self_of(frame));
    depth++;
  }
  key = mix(key, key >> 32);
  return depth ? key | UINT64_C(1) << 63 : 0;
}

static size_t raw_of(const char *frame, raw *out) {
  size_t depth = 0;
  for (; frame && depth < DEPTH; frame = LOAD(frame, at.previous)) {
    if (is_entry(frame)) continue;
    const char *code = LOAD(frame, at.code);
    out[depth++] = (raw){
        .code = (uintptr_t)code,
        .offset = (int32_t)(LOAD(frame, at.instruction) - code - at.bytecode),
        .self = is_impl((uintptr_t)code) ? self_of(frame) : 0};
  }
  return depth;
}

/* ---- texts ---- */

/* A str as it lies there, into TEXT bytes; 0: it is none of a kind that is
 * known. It lives as long as the frame that leads to it. */
static size_t text_of(const char *string, char *out) {
  uint32_t bits;
  ptrdiff_t length;
  memcpy(&length, string + 16, sizeof length);
  memcpy(&bits, string + 32, sizeof bits);
  unsigned width = bits >> 2 & 7;
  bool compact = bits >> 5 & 1, ascii = bits >> 6 & 1;
  if (!compact || length < 0 || (width != 1 && width != 2 && width != 4))
    return 0;
  const char *from = string + (ascii ? at.ascii : at.wide);
  size_t used = 0;
  for (ptrdiff_t i = 0; i < length; i++) {
    uint32_t c = 0;
    memcpy(&c, from + (size_t)i * width, width);
    size_t put = put_utf8(out + used, TEXT - used, c ? c : '?');
    if (!put) break;
    used += put;
  }
  return used;
}

/* ---- what is not in the cache ---- */

static sem_t wanted; /* modules have no names yet, or it is the end */

static bool ends_with(const char *string, const char *end) {
  char text[TEXT];
  size_t size = text_of(string, text), n = strlen(end);
  return size >= n && memcmp(text + size - n, end, n) == 0;
}

/* Torch calls each module by this function, whose first parameter it is. */
static bool is_torchs(const char *code) {
  return ends_with(LOAD(code, at.function), "Module._wrapped_call_impl") &&
         ends_with(LOAD(code, at.file), "torch/nn/modules/module.py");
}

static void know_impl(uintptr_t code) {
  for (size_t i = 0; i < IMPLS; i++) {
    uintptr_t there = atomic_load(&impls[i]);
    if (!there) atomic_store(&impls[i], code);
    if (!there || there == code) return;
  }
}

/* Code that is new: may a frame of it call a module? */
static void see_code(uintptr_t code) {
  if (LOAD((const char *)code, 8) == py.Code && is_torchs((const char *)code))
    know_impl(code);
}

static void know_code(uintptr_t code) {
  size_t slot = code_slot(code);
  if (codes[slot]) return;
  see_code(code);
  codes[slot] = code;
  code_count++;
}

/* 0: there is no room, or what is there is no code. */
static uint32_t read_frame(const raw *r, uint32_t module) {
  char file[TEXT], function[TEXT];
  const char *code = (const char *)r->code;
  if (LOAD(code, 8) != py.Code) return 0;
  size_t file_size = text_of(LOAD(code, at.file), file);
  size_t function_size = text_of(LOAD(code, at.function), function);
  int line = py.PyCode_Addr2Line((object *)r->code, r->offset);
  stacks_frame frame = {.file = stacks_text(file, file_size),
                        .function = stacks_text(function, function_size),
                        .line = line > 0 ? (uint32_t)line : 0,
                        .module = module};
  if (!file_size || !frame.file || !frame.function) return 0;
  return stacks_of_frame(&frame);
}

/* The number of a frame, from where it was read before. */
static uint32_t frame_of(const raw *r, uint32_t module) {
  size_t slot =
      mix(mix(mix(1, r->code), (uint32_t)r->offset), module) & (PLACES - 1);
  for (; places[slot].code; slot = (slot + 1) & (PLACES - 1))
    if (places[slot].code == r->code && places[slot].offset == r->offset &&
        places[slot].module == module)
      return places[slot].number;
  uint32_t number = read_frame(r, module);
  if (!number || !knows_code(r->code)) return number;
  places[slot].code = r->code;
  places[slot].offset = r->offset;
  places[slot].module = module;
  places[slot].number = number;
  place_count++;
  return number;
}

/* Code that is pinned does not die; that of 3.12 and later tells. */
static bool know_codes(const raw *r, size_t depth) {
  bool all = true;
  if (atomic_load(&watching)) {
    if (code_count + depth > CODES / 2 || place_count + depth > PLACES / 2)
      forget_addresses();
    for (size_t i = 0; i < depth; i++) know_code(r[i].code);
    return true;
  }
  for (size_t i = 0; i < depth; i++) {
    if (knows_code(r[i].code)) continue;
    see_code(r[i].code);
    all = false;
  }
  return all && place_count + depth <= PLACES / 2;
}

/* Of a thread that is inside of modules, each frame runs for the innermost
 * around it. */
static uint32_t stack_of(const raw *r, size_t depth, bool *news) {
  uint32_t number = 0, module = 0;
  for (size_t i = depth; i-- > 0;) {
    bool fresh = false;
    if (r[i].self) module = stacks_of_module(r[i].self, &fresh);
    uint32_t frame = frame_of(&r[i], module);
    number = frame ? stacks_of_node(number, frame) : 0;
    *news |= fresh;
    if (!number) return 0;
  }
  return number;
}

static int on_main(void *unused);
static atomic_bool asked; /* the main thread, for that */

static uint32_t walk_anew(const char *frame) {
  raw r[DEPTH];
  bool news = false;
  inside = true;
  stacks_lock();
  size_t depth = raw_of(frame, r);
  bool lasting = know_codes(r, depth);
  depth = raw_of(frame, r); /* more of its code may be known now */
  uint32_t number = stack_of(r, depth, &news);
  if (lasting && number) cache_put(key_of(frame), number);
  stacks_unlock();
  if (news) (void)sem_post(&wanted);
  if ((news || !lasting) && !atomic_exchange(&asked, true) &&
      py.Py_AddPendingCall(on_main, NULL) != 0)
    atomic_store(&asked, false);
  inside = false;
  return number;
}

static uint32_t walk(void) {
  const char *thread = thread_state();
  const char *frame = thread ? first_frame(thread) : NULL;
  uint64_t key = frame ? key_of(frame) : 0;
  if (!key) return 0;
  uint32_t number = cache_get(key);
  return number ? number : walk_anew(frame);
}

static atomic_bool over;    /* the interpreter ends */
static atomic_uint walkers; /* it may not free what these look at */

uint32_t python_walk(void) {
  if (atomic_load_explicit(&state_now, memory_order_acquire) != PYTHON_ON ||
      inside)
    return 0;
  atomic_fetch_add(&walkers, 1);
  uint32_t number = atomic_load(&over) ? 0 : walk();
  atomic_fetch_sub(&walkers, 1);
  return number;
}

/* ---- deaths ---- */

/* With the GIL; the address may be another's next. */
static int on_code(int event, object *code) {
  enum {
    DESTROYED = 1
  };
  if (event != DESTROYED) return 0;
  stacks_lock();
  if (knows_code((uintptr_t)code)) forget_addresses();
  stacks_unlock();
  return 0;
}

typedef struct method {
  const char *name;
  object *(*call)(object *, object *);
  int flags;
  const char *doc;
} method;

enum {
  ONE_ARGUMENT = 8, /* METH_O */
  NO_ARGUMENT = 4,
};

static object *none(void) {
  py.Py_IncRef(py.None);
  return py.None;
}

/* With the GIL; the argument is the weak reference. */
static object *on_module(object *self, object *reference) {
  (void)self;
  stacks_module *m;
  stacks_lock();
  for (uint32_t i = 1; (m = stacks_get_module(i)) != NULL; i++)
    if (m->watch == reference) {
      m->self = 0;
      atomic_fetch_add(&generation, GENERATIONS_APART);
    }
  stacks_unlock();
  return none();
}

/* ---- names of modules, with the GIL and without the lock ---- */

static object *death;        /* on_module */
static object *roots[ROOTS]; /* weak references */
static size_t root_count;

typedef struct found {
  object *module; /* held */
  uint32_t number;
  const char *path;
} found;

static found *all_found; /* FOUND of them */
static size_t found_count, looked_at;

/* The modules in a module, borrowed; NULL: none. *holder is to be given back.
 */
static object *modules_in(object *module, object **holder) {
  enum {
    IS_DICT = 29 /* a bit of a type's flags */
  };
  *holder = py.PyObject_GenericGetDict(module, NULL);
  if (!*holder) {
    py.PyErr_Clear();
    return NULL;
  }
  object *in = py.PyDict_GetItemString(*holder, "_modules");
  bool is_dict =
      in && py.PyType_GetFlags(LOAD((const char *)in, 8)) >> IS_DICT & 1;
  return is_dict ? in : NULL;
}

/* Is it one that a walk has met, without a name or with one in a smaller model?
 */
static void meet(object *module, const char *path) {
  stacks_lock();
  uint32_t number = stacks_find_module((uintptr_t)module);
  const stacks_module *m = number ? stacks_get_module(number) : NULL;
  bool wants =
      m && (!m->root || strlen(path) > (m->path ? strlen(m->path) : 0));
  const char *text = wants && path[0] ? stacks_text(path, strlen(path)) : NULL;
  stacks_unlock();
  if (!wants || found_count == FOUND || (path[0] && !text)) return;
  py.Py_IncRef(module);
  all_found[found_count++] = (found){module, number, text};
}

/* torch.compile puts a module of its own around. */
static bool is_wrapper(const char *key) {
  return strcmp(key, "_orig_mod") == 0;
}

static void explore(object *module, char *path, size_t used, unsigned depth) {
  object *holder, *key, *value;
  ptrdiff_t i = 0;
  meet(module, path);
  if (depth >= NESTED || looked_at++ >= LOOKED_AT) return;
  object *in = modules_in(module, &holder);
  while (in && py.PyDict_Next(in, &i, &key, &value)) {
    const char *name = py.PyUnicode_AsUTF8(key);
    if (!name) py.PyErr_Clear();
    if (!name || value == py.None) continue;
    size_t more = 0;
    if (!is_wrapper(name))
      more = (size_t)snprintf(path + used, TEXT - used, "%s%s", used ? "." : "",
                              name);
    if (used + more < TEXT) explore(value, path, used + more, depth + 1);
    path[used] = 0;
  }
  if (holder) py.Py_DecRef(holder);
}

/* "LlamaForCausalLM" */
static const char *class_of(object *module) {
  enum {
    NAME = 24 /* in a type */
  };
  const char *name = LOAD(LOAD((const char *)module, 8), NAME);
  const char *dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}

static void name_one(const found *f, const char *root) {
  object *watch = py.PyWeakref_NewRef(f->module, death);
  if (!watch) py.PyErr_Clear();
  stacks_lock();
  stacks_module *m = stacks_get_module(f->number);
  const char *text = stacks_text(root, strlen(root));
  if (watch && text && m->self == (uintptr_t)f->module) {
    if (!m->watch) {
      m->watch = watch; /* for good */
      watch = NULL;
    }
    stacks_name_module(f->number, f->path, text);
  }
  stacks_unlock();
  if (watch) py.Py_DecRef(watch);
}

static void name_below(object *root) {
  char path[TEXT] = "";
  found_count = looked_at = 0;
  explore(root, path, 0, 0);
  for (size_t i = 0; i < found_count; i++) {
    name_one(&all_found[i], class_of(root));
    py.Py_DecRef(all_found[i].module);
  }
}

/* The outermost module that a thread is in; NULL: none. */
static object *outermost(const char *thread) {
  raw r[DEPTH];
  const char *frame = first_frame(thread);
  size_t depth = frame ? raw_of(frame, r) : 0;
  while (depth > 0 && !r[depth - 1].self) depth--;
  return depth > 0 ? (object *)r[depth - 1].self : NULL;
}

static bool is_root(const object *module) {
  for (size_t i = 0; i < root_count; i++)
    if (py.PyWeakref_GetObject(roots[i]) == module) return true;
  return false;
}

static void add_root(object *module) {
  size_t place = 0;
  object *there = NULL;
  if (!module || is_root(module)) return;
  object *reference = py.PyWeakref_NewRef(module, NULL);
  if (!reference) {
    py.PyErr_Clear();
    return;
  }
  for (; place < root_count; place++) { /* that of one that has died */
    there = roots[place];
    if (py.PyWeakref_GetObject(there) == py.None) break;
  }
  if (place == ROOTS) {
    py.Py_DecRef(reference);
    return;
  }
  roots[place] = reference;
  if (place == root_count)
    root_count++;
  else
    py.Py_DecRef(there);
}

/* With the GIL no other thread runs, and what its frames refer to lives. */
static void find_roots(void) {
  object *thread = py.PyInterpreterState_ThreadHead(main_interpreter);
  for (; thread; thread = py.PyThreadState_Next(thread))
    add_root(outermost(thread));
}

/* By the main thread with the GIL, soon after a launch of its: the model that
 * it is in; and where deaths of code are not told, what it runs is kept for
 * good. */
static int on_main(void *unused) {
  raw r[DEPTH];
  (void)unused;
  atomic_store(&asked, false);
  const char *thread = thread_state();
  const char *frame = thread ? first_frame(thread) : NULL;
  if (!frame) return 0;
  add_root(outermost(thread));
  if (atomic_load(&watching)) return 0;
  size_t depth = raw_of(frame, r);
  stacks_lock();
  for (size_t i = 0; i < depth && code_count < CODES / 2; i++) {
    if (knows_code(r[i].code)) continue;
    py.Py_IncRef((object *)r[i].code);
    know_code(r[i].code);
  }
  stacks_unlock();
  return 0;
}

/* One that turned out to be in another has its name from there. */
static void name_modules(void) {
  find_roots();
  for (size_t i = 0; i < root_count; i++) {
    object *root = py.PyWeakref_GetObject(roots[i]);
    if (!root || root == py.None) continue;
    py.Py_IncRef(root);
    name_below(root);
    py.Py_DecRef(root);
  }
}

static bool some_unnamed(void) {
  const stacks_module *m;
  bool some = false;
  stacks_lock();
  for (uint32_t i = 1; !some && (m = stacks_get_module(i)) != NULL; i++)
    some = m->self && !m->root;
  stacks_unlock();
  return some;
}

/* ---- is the layout right? ---- */

static const char probes[] = "class Module:\n"
                             "    def _wrapped_call_impl(self, other):\n"
                             "        return probe(self)\n"
                             "def closed(self):\n"
                             "    inner = lambda: self\n"
                             "    return probe(inner())\n"
                             "def yields(module):\n"
                             "    yield module._wrapped_call_impl(1)\n"
                             "def \u00e4\u00f6\u4e2d(module):\n"
                             "    next(yields(module))\n"
                             "    return list(map(closed, [module]))\n"
                             "\u00e4\u00f6\u4e2d(Module())\n";

static unsigned probed, probed_well;

static bool same_text(object *code, const char *name, const char *string) {
  char text[TEXT];
  object *attribute = py.PyObject_GetAttrString(code, name);
  const char *there = attribute ? py.PyUnicode_AsUTF8(attribute) : NULL;
  size_t size = text_of(string, text);
  bool same = there && strlen(there) == size && memcmp(text, there, size) == 0;
  if (!attribute) py.PyErr_Clear();
  if (attribute) py.Py_DecRef(attribute);
  return same;
}

static bool same_frame(object *frame, const raw *r) {
  object *code = py.PyFrame_GetCode(frame);
  const char *bytes = (const char *)r->code;
  bool same =
      (uintptr_t)code == r->code && LOAD(bytes, 8) == py.Code &&
      py.PyFrame_GetLasti(frame) == r->offset &&
      py.PyFrame_GetLineNumber(frame) == py.PyCode_Addr2Line(code, r->offset) &&
      same_text(code, "co_filename", LOAD(bytes, at.file)) &&
      same_text(code, "co_qualname", LOAD(bytes, at.function));
  py.Py_DecRef(code);
  return same;
}

/* Does the interpreter tell the same frames? */
static bool same_frames(const raw *r, size_t depth) {
  size_t i = 0;
  bool same = true;
  object *frame = py.PyThreadState_GetFrame(py.PyThreadState_Get()), *back;
  for (; frame; frame = back) {
    same = same && i < depth && same_frame(frame, &r[i]);
    i++;
    back = py.PyFrame_GetBack(frame);
    py.Py_DecRef(frame);
  }
  return same && i == depth && depth >= 3;
}

/* Called by the lines above, from functions whose first parameter is its
 * argument; walks with the GIL, and without. */
static object *probe(object *self, object *module) {
  raw held[DEPTH], released[DEPTH];
  (void)self;
  const char *thread = thread_state();
  probed++;
  if (thread != (const char *)py.PyThreadState_Get()) return none();
  const char *frame = first_frame(thread);
  size_t depth = raw_of(frame, held), again = 0;
  object *saved = py.PyEval_SaveThread();
  const char *unheld = thread_state();
  if (unheld == thread) again = raw_of(first_frame(unheld), released);
  py.PyEval_RestoreThread(saved);
  bool well = depth == again && self_of(frame) == (uintptr_t)module;
  for (size_t i = 0; well && i < depth; i++)
    well = held[i].code == released[i].code &&
           held[i].offset == released[i].offset;
  probed_well += well && same_frames(held, depth);
  return none();
}

static object *function_of(method *m) {
  object *function = py.PyCMethod_New(m, NULL, NULL, NULL);
  if (!function) py.PyErr_Clear();
  return function;
}

static bool is_right(void) {
  enum {
    FILE_INPUT = 257
  };
  static method said = {"probe", probe, ONE_ARGUMENT, NULL};
  object *names = py.PyDict_New(), *function = function_of(&said);
  object *ran = NULL;
  probed = probed_well = 0;
  if (names && function &&
      py.PyDict_SetItemString(names, "__builtins__", py.PyEval_GetBuiltins()) ==
          0 &&
      py.PyDict_SetItemString(names, "probe", function) == 0)
    ran = py.PyRun_String(probes, FILE_INPUT, names, names);
  if (!ran) py.PyErr_Clear();
  if (ran) py.Py_DecRef(ran);
  if (names) py.Py_DecRef(names);
  if (function) py.Py_DecRef(function);
  return ran && probed == 2 && probed_well == 2;
}

/* ---- our thread ---- */

static atomic_bool busy; /* with the GIL, or waiting for it */
static atomic_uint threads;

unsigned python_threads(void) {
  return atomic_load(&threads);
}

/* At the interpreter's end, with the GIL: who asks for it later is lost, and
 * states of threads are freed, whatever these do. */
static object *at_exit(object *self, object *unused) {
  (void)self, (void)unused;
  object *saved = py.PyEval_SaveThread();
  atomic_store(&over, true);
  (void)sem_post(&wanted);
  for (int i = 0; i < 1000 && (atomic_load(&busy) || atomic_load(&walkers));
       i++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  py.PyEval_RestoreThread(saved);
  return none();
}

static bool register_end(void) {
  static method said = {"llmprof_at_exit", at_exit, NO_ARGUMENT, NULL};
  object *module = py.PyImport_ImportModule("atexit");
  object *add = module ? py.PyObject_GetAttrString(module, "register") : NULL;
  object *function = add ? function_of(&said) : NULL;
  object *done =
      function ? py.PyObject_CallFunctionObjArgs(add, function, NULL) : NULL;
  object *all[] = {module, add, function, done};
  if (!done) py.PyErr_Clear();
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]) py.Py_DecRef(all[i]);
  return done != NULL;
}

/* With the GIL. False: lines stay unknown. What it leaves with the interpreter
 * is the child's too after a fork. */
static bool prepare(void) {
  static bool registered, granted;
  static method said = {"llmprof_module_death", on_module, ONE_ARGUMENT, NULL};
  if (!is_right()) {
    snprintf(why, sizeof why,
             "frames of this Python %u.%u are not where they should be",
             version >> 8, version & 255);
    return false;
  }
  if (!all_found) all_found = memory_take(FOUND * sizeof *all_found);
  if (!death) death = function_of(&said);
  if (!all_found || !death || !(registered || register_end())) {
    snprintf(why, sizeof why, "no memory for lines of Python");
    return false;
  }
  if (!registered && py.PyCode_AddWatcher) {
    granted = py.PyCode_AddWatcher(on_code) >= 0;
    if (!granted) py.PyErr_Clear();
  }
  registered = true;
  atomic_store(&watching, granted);
  return true;
}

static void visit(void) {
  atomic_store(&busy, true);
  if (!atomic_load(&over) && py.Py_IsInitialized()) {
    int had = py.PyGILState_Ensure();
    if (atomic_load(&over)) {
      /* nothing more */
    } else if (atomic_load(&state_now) == PYTHON_BEGUN) {
      set_state(prepare() ? PYTHON_ON : PYTHON_OFF);
    } else {
      name_modules();
    }
    py.PyGILState_Release(had);
  }
  atomic_store(&busy, false);
}

/* The interpreter ends threads that ask for its GIL too late. */
static void gone(void *unused) {
  (void)unused;
  atomic_store(&busy, false);
  atomic_fetch_sub(&threads, 1);
}

static void wait_for(int64_t ms) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += (long)(ms % 1000) * 1000000;
  until.tv_sec += (time_t)(ms / 1000 + until.tv_nsec / 1000000000);
  until.tv_nsec %= 1000000000;
  (void)sem_timedwait(&wanted, &until);
}

/* Modules that are met one after another are named together. */
static void gather(void) {
  nanosleep(&(struct timespec){.tv_nsec = 4000000}, NULL);
  while (sem_trywait(&wanted) == 0) continue;
}

/* A module that is not found at once may be when its model runs again. */
static void name_until_the_end(void) {
  enum {
    SOON_MS = 20,
    LATE_MS = 1000
  };
  int64_t pause = SOON_MS;
  bool some = false;
  while (!atomic_load(&over)) {
    if (some) {
      wait_for(pause);
    } else {
      (void)sem_wait(&wanted);
      pause = SOON_MS;
    }
    gather();
    visit();
    some = some_unnamed();
    pause = pause * 2 < LATE_MS ? pause * 2 : LATE_MS;
  }
}

static void *serve(void *unused) {
  (void)unused;
  pthread_cleanup_push(gone, NULL);
  inside = true; /* what we do is not looked at */
  visit();
  if (atomic_load(&state_now) == PYTHON_ON) name_until_the_end();
  pthread_cleanup_pop(1);
  return NULL;
}

static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;

static python_state begin(void) {
  int (*is_there)(void);
  if (!look_up(&is_there, "Py_IsInitialized") || !is_there())
    return PYTHON_NONE;
  if (!look()) return PYTHON_OFF;
  main_interpreter = py.PyInterpreterState_Main();
  if (!stacks_begin() || sem_init(&wanted, 0, 0) != 0) {
    snprintf(why, sizeof why, "no memory for lines of Python");
    return PYTHON_OFF;
  }
  set_state(PYTHON_BEGUN);
  atomic_fetch_add(&threads, 1);
  if (threads_start(serve, NULL)) return PYTHON_BEGUN;
  atomic_fetch_sub(&threads, 1);
  snprintf(why, sizeof why, "no thread for lines of Python");
  return PYTHON_OFF;
}

python_state python_now(void) {
  return (python_state)atomic_load_explicit(&state_now, memory_order_acquire);
}

python_state python_begin(void) {
  if (python_now() != PYTHON_NONE) return python_now();
  pthread_mutex_lock(&beginning);
  if (python_now() == PYTHON_NONE && begin() == PYTHON_OFF)
    set_state(PYTHON_OFF);
  pthread_mutex_unlock(&beginning);
  return python_now();
}

/* References stay, as the parent's objects do. */
void python_forget(void) {
  pthread_mutex_init(&beginning, NULL);
  stacks_forget();
  set_state(PYTHON_NONE);
  atomic_store(&threads, 0);
  atomic_store(&over, false);
  atomic_store(&walkers, 0);
  atomic_store(&busy, false);
  atomic_store(&watching, false);
  atomic_store(&asked, false);
  root_count = 0;
  forget_addresses();
}
