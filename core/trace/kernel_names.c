#include "trace/kernel_names.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "text/demangle.h"

void llmprof_kernel_names_free(llmprof_kernel_names *names) {
  llmprof_free(names->list);
}

static bool make_name(llmprof_builder *builder, uint32_t string,
                      llmprof_kernel_name *name) {
  size_t size;
  const char *text =
      llmprof_strings_get(llmprof_builder_strings(builder), string, &size);
  if (size < 3 || memcmp(text, "_Z", 2) != 0) {
    name->full = string;
    llmprof_demangled_base(text, size, &text, &size);
    return llmprof_builder_text(builder, text, size, &name->base);
  }
  llmprof_buffer full = {0}, base = {0};
  bool ok = llmprof_demangle(text, size, &full, &base) &&
            llmprof_builder_text(builder, full.bytes, full.size, &name->full) &&
            llmprof_builder_text(builder, base.bytes, base.size, &name->base);
  llmprof_buffer_free(&full);
  llmprof_buffer_free(&base);
  return ok;
}

bool llmprof_kernel_names_get(llmprof_kernel_names *names,
                              llmprof_builder *builder, uint32_t string,
                              llmprof_kernel_name *name) {
  *name = (llmprof_kernel_name){LLMPROF_NO_STRING, LLMPROF_NO_STRING};
  if (string == LLMPROF_NO_STRING) return true;
  if (!llmprof_grow(&names->list, &names->room, string + (size_t)1,
                    sizeof *names->list))
    return false;
  while (names->count <= string) names->list[names->count++] = *name;
  /* a name is kept when it has been written out */
  if (names->list[string].base == LLMPROF_NO_STRING) {
    if (!make_name(builder, string, name)) return false;
    names->list[string] = *name;
  }
  *name = names->list[string];
  return true;
}
