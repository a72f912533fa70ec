/* replay FOLDER: feeds every file of a corpus to a fuzz target, in the order
 * of their names, without libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

/* In memory of exactly the file's size, so that a read past the end is seen
 * by AddressSanitizer. */
static int replay(const char *path) {
  int failed = 1;
  uint8_t *data = NULL;
  struct stat info;
  FILE *file = fopen(path, "rb");
  if (!file || fstat(fileno(file), &info) != 0) goto out;
  size_t size = (size_t)info.st_size;
  data = malloc(size ? size : 1);
  if (!data || fread(data, 1, size, file) != size) goto out;
  printf("%s: %zu bytes\n", path, size);
  fflush(stdout); /* the last line names what crashed */
  failed = LLVMFuzzerTestOneInput(data, size);
out:
  if (failed) perror(path);
  if (file) fclose(file);
  free(data);
  return failed;
}

static int is_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

int main(int argc, char **argv) {
  struct dirent **entries = NULL;
  int count = argc == 2 ? scandir(argv[1], &entries, is_visible, alphasort) : 0;
  if (count <= 0) {
    fprintf(stderr, "usage: %s FOLDER, which holds files\n", argv[0]);
    return 2;
  }
  int failed = 0;
  for (int i = 0; i < count; i++) {
    char *path;
    if (asprintf(&path, "%s/%s", argv[1], entries[i]->d_name) < 0) abort();
    failed |= replay(path);
    free(path);
    free(entries[i]);
  }
  free(entries);
  return failed;
}
