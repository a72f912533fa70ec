/* Which line of the program launched an operation: the innermost one of its
 * stack that is neither of a framework nor of the standard library, with the
 * path of its file as reports have it; and stacks of such lines alone, in which
 * layers of a model meet, as frames of a tree. */
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

typedef struct text {
  const char *at;
  size_t size;
} text;

static text text_of(const llmprof_trace *trace, uint32_t string) {
  text t = {"", 0};
  const char *at = llmprof_strings_get(trace->strings, string, &t.size);
  if (at) t.at = at;
  return t;
}

static bool begins(text t, const char *with) {
  size_t size = strlen(with);
  return t.size >= size && memcmp(t.at, with, size) == 0;
}

static text from(text t, const char *at) {
  return (text){at, t.size - (size_t)(at - t.at)};
}

/* Behind the last of these words; NULL: it is not there. */
static const char *behind(text t, const char *word) {
  const char *found = NULL, *at = t.at;
  while ((at = memmem(at, from(t, at).size, word, strlen(word))))
    found = at += strlen(word);
  return found;
}

/* ---- files ---- */

/* Packages that are known where no "site-packages" tells where they begin. */
static const char *const known[] = {"/torch/", "/triton/", "/vllm/", "/sglang/",
                                    "/transformers/"};

static const char *package(text path) {
  const char *last = NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const char *at = behind(path, known[i]);
    if (at && at - strlen(known[i]) + 1 > last)
      last = at - strlen(known[i]) + 1;
  }
  return last;
}

/* The last `parts` of a path. */
static text last_parts(text path, int parts) {
  const char *at = path.at + path.size;
  while (at > path.at && (at[-1] != '/' || --parts)) at--;
  return from(path, at);
}

/* What of a path is told: without where packages and the library are installed;
 * of another absolute one two parts. */
static text shorten(text path, bool *library) {
  const char *at = behind(path, "site-packages/");
  if (!at) at = behind(path, "dist-packages/");
  *library = false;
  if (at) return from(path, at);
  at = behind(path, "/lib/python3.");
  if (at && (at = memchr(at, '/', from(path, at).size))) {
    *library = true;
    return from(path, at + 1);
  }
  if (begins(path, "./")) return from(path, path.at + 2);
  if (!path.size || *path.at != '/') return path;
  at = package(path);
  return at ? from(path, at) : last_parts(path, 2);
}

/* ---- frameworks ---- */

/* Paths of what a model is written with, and through which engines call it; of
 * the standard library where it lies under no other name. What ends in "/" is a
 * folder. */
static const char *const frameworks[] = {"torch/",
                                         "triton/",
                                         "triton_kernels/",
                                         "nvidia/",
                                         "cuda/",
                                         "cupy/",
                                         "numpy/",
                                         "jax/",
                                         "jaxlib/",
                                         "flashinfer/",
                                         "flash_attn/",
                                         "xformers/",
                                         "sgl_kernel/",
                                         "deep_gemm/",
                                         "transformer_engine/",
                                         "aiter/",
                                         "torch_guard.py",
                                         "bitsandbytes/",
                                         "accelerate/hooks.py",
                                         "tqdm/",
                                         "vllm/_custom_ops.py",
                                         "vllm/_aiter_ops.py",
                                         "vllm/utils/",
                                         "vllm/model_executor/custom_op.py",
                                         "vllm/model_executor/parameter.py",
                                         "vllm/compilation/",
                                         "vllm/triton_utils/",
                                         "vllm/forward_context.py",
                                         "vllm/v1/utils.py",
                                         "vllm/vllm_flash_attn/",
                                         "sglang/srt/custom_op.py",
                                         "sglang/srt/utils/",
                                         "sglang/srt/compilation/",
                                         "transformers/utils/"};

static const char *const library[] = {
    "abc.py",        "asyncio/",     "collections/",     "concurrent/",
    "contextlib.py", "copy.py",      "enum.py",          "functools.py",
    "importlib/",    "logging/",     "multiprocessing/", "queue.py",
    "runpy.py",      "threading.py", "typing.py",        "weakref.py"};

static bool is_in(text path, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (begins(path, list[i])) return true;
  return false;
}

/* Libraries between a C++ program and the GPU, and around main. */
static const char *const libraries[] = {
    "ld-linux",    "libc.so",    "libc10",     "libcublas",
    "libcuda",     "libcudnn",   "libcupti",   "libcusolver",
    "libcusparse", "libgomp",    "libllmprof", "libnccl",
    "libnv",       "libpthread", "libstdc++",  "libtorch"};

/* What is typed, not what a library makes while it runs. */
static bool is_typed(text path, text function) {
  return begins(path, "<stdin>") || begins(path, "<ipython") ||
         (begins(path, "<string>") && begins(function, "<module>"));
}

/* path: as it is told; whole: as it was recorded. */
static bool is_framework(text path, text whole, text function) {
  if (!path.size) return true;
  if (*path.at == '<') return !is_typed(path, function);
  return is_in(path, frameworks, sizeof frameworks / sizeof *frameworks) ||
         is_in(last_parts(path, 1), libraries,
               sizeof libraries / sizeof *libraries) ||
         (path.at == whole.at &&
          is_in(path, library, sizeof library / sizeof *library));
}

/* ---- lines ---- */

/* What torch.compile writes lies in a folder for temporary files. */
static bool is_generated(text path) {
  return behind(path, "torchinductor") || behind(path, "inductor_cache/") ||
         behind(path, "torch_compile_cache/");
}

static bool add_text(llmprof_trace *trace, llmprof_buffer *bytes,
                     uint32_t *string) {
  bool ok = !bytes->failed && llmprof_builder_text(trace->builder, bytes->bytes,
                                                   bytes->size, string);
  llmprof_buffer_free(bytes);
  return ok;
}

/* The path of a file for others, which is known for what it is as the whole one
 * was: it says where packages and the library begin, but not where they lie. */
static bool path_of(llmprof_trace *trace, const llmprof_source_frame *frame,
                    uint32_t *string) {
  bool of_library;
  text whole = text_of(trace, frame->file);
  text path = shorten(whole, &of_library);
  *string = frame->file;
  if (!path.size || path.at == whole.at) return true;
  llmprof_buffer bytes = {0};
  if (is_generated(whole)) {
    llmprof_buffer_puts(&bytes, "torchinductor/");
    path = last_parts(whole, 1);
  } else if (of_library) {
    while (path.at > whole.at && !begins(path, "/lib/python"))
      path = from(whole, path.at - 1);
  }
  llmprof_buffer_add(&bytes, path.at, path.size);
  return add_text(trace, &bytes, string);
}

/* "modeling_llama.py:97", or LLMPROF_NO_STRING for a line of a framework. */
static bool line_of(llmprof_trace *trace, const llmprof_source_frame *frame,
                    uint32_t *line) {
  bool of_library;
  text whole = text_of(trace, frame->file);
  text path = shorten(whole, &of_library);
  bool generated = is_generated(whole);
  *line = LLMPROF_NO_STRING;
  if (!generated &&
      (of_library ||
       is_framework(path, whole, text_of(trace, frame->function))))
    return true;
  llmprof_buffer bytes = {0};
  if (generated) {
    llmprof_buffer_puts(&bytes, "torch.compile/");
    path = last_parts(whole, 1);
  }
  llmprof_buffer_add(&bytes, path.at, path.size);
  if (frame->line != LLMPROF_NONE)
    llmprof_buffer_printf(&bytes, ":%u", (unsigned)frame->line);
  return add_text(trace, &bytes, line);
}

static bool place_stack(llmprof_trace *trace, const uint32_t *lines,
                        uint32_t row) {
  const llmprof_source_stack *stack =
      llmprof_intern_get(&trace->rows[LLMPROF_SOURCE_STACKS], row);
  const llmprof_source_frame *frame =
      llmprof_intern_get(&trace->rows[LLMPROF_SOURCE_FRAMES], stack->frame);
  llmprof_source_place *place = &trace->source_places[row];
  *place = (llmprof_source_place){LLMPROF_NONE, LLMPROF_NO_STRING};
  if (stack->parent != LLMPROF_NONE)
    *place = trace->source_places[stack->parent];
  if (frame->module != LLMPROF_NO_STRING) place->module = frame->module;
  const llmprof_stack_frame shown = {place->shown, frame->function,
                                     lines[stack->frame]};
  return shown.module == LLMPROF_NO_STRING ||
         llmprof_intern_add(&trace->rows[LLMPROF_SOURCE_LINES], &shown,
                            &place->shown);
}

bool llmprof_builder_place_stacks(llmprof_builder *builder) {
  llmprof_trace *trace = builder->trace;
  size_t frames = trace->rows[LLMPROF_SOURCE_FRAMES].count,
         stacks = trace->rows[LLMPROF_SOURCE_STACKS].count;
  uint32_t *lines = llmprof_alloc(frames, sizeof *lines);
  llmprof_free(trace->source_places);
  llmprof_free(trace->source_paths);
  trace->source_places = llmprof_alloc(stacks, sizeof *trace->source_places);
  trace->source_paths = llmprof_alloc(frames, sizeof *trace->source_paths);
  bool ok = lines && trace->source_places && trace->source_paths;
  for (uint32_t i = 0; ok && i < frames; i++)
    ok = path_of(trace,
                 llmprof_intern_get(&trace->rows[LLMPROF_SOURCE_FRAMES], i),
                 &trace->source_paths[i]);
  for (uint32_t i = 0; ok && i < frames; i++)
    ok = line_of(trace,
                 llmprof_intern_get(&trace->rows[LLMPROF_SOURCE_FRAMES], i),
                 &lines[i]);
  for (uint32_t i = 0; ok && i < stacks; i++)
    ok = !llmprof_interrupted_at(i) && place_stack(trace, lines, i);
  llmprof_free(lines);
  if (stacks) llmprof_builder_knows(builder, LLMPROF_KNOWS_LINES);
  return ok;
}

const uint32_t *llmprof_trace_source_paths(const llmprof_trace *trace) {
  return trace->source_paths;
}

const llmprof_stack_frame *llmprof_trace_source_line(const llmprof_trace *trace,
                                                     size_t stack) {
  uint32_t row = trace->source_places[stack].shown;
  return row == LLMPROF_NONE
             ? NULL
             : llmprof_intern_get(&trace->rows[LLMPROF_SOURCE_LINES], row);
}

uint32_t llmprof_trace_source_module(const llmprof_trace *trace, size_t stack) {
  return trace->source_places[stack].module;
}
