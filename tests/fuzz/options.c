/* What AddressSanitizer does unless told otherwise by ASAN_OPTIONS: freed
 * blocks of some MB wait, not of 256, which each input would fill with pages
 * that were never touched; and few callers are kept of each allocation. */
const char *__asan_default_options(void); /* it has no header */

const char *__asan_default_options(void) {
  return "quarantine_size_mb=4:thread_local_quarantine_size_kb=128:"
         "malloc_context_size=6";
}
