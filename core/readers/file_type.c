#include "readers/file_type.h"

#include <string.h>

static bool is_text(const llmprof_specimen *file) {
  for (size_t i = 0; i < file->size; i++) {
    unsigned char c = file->bytes[i];
    if (c == 0x7F || (c < ' ' && !memchr("\t\r\n\f\033", c, 5))) return false;
  }
  return true;
}

const char *llmprof_file_type(const llmprof_specimen *file) {
  static const struct {
    const char *magic, *what;
  } known[] = {
      {"\x7F"
       "ELF",
       "an ELF program or library"},
      {"PK\x03\x04", "a zip archive"},
      {"\xFD"
       "7zXZ",
       "an xz archive: unpack it first"},
      {"\x28\xB5\x2F\xFD", "a zstd archive: unpack it first"},
      {"BZh", "a bzip2 archive: unpack it first"},
      {"\x1F\x8B", "gzip that is damaged"},
      {"SQLite format 3", "a cut SQLite database"},
      {"\x89PNG", "a picture"},
      {"%PDF", "a PDF document"},
      {"{", "JSON"},
      {"[", "JSON"},
      {"<", "HTML or XML"},
  };
  if (!file->size) return "an empty file";
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t size = strlen(known[i].magic);
    if (file->size >= size && memcmp(file->bytes, known[i].magic, size) == 0)
      return known[i].what;
  }
  return is_text(file) ? "text" : "data of no known format";
}
