/* Where libFuzzer is not: run the target on every file of the folders and on
 * every file named, and fail when there was none. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static size_t ran;

static void fail(const char *path) {
  fprintf(stderr, "%s: %s\n", path, strerror(errno));
  exit(EXIT_FAILURE);
}

/* The bytes are in a block of exactly their size, so that reading past the end
 * is seen. */
static void run_file(const char *path) {
  FILE *file = fopen(path, "rb");
  struct stat info;
  if (!file || fstat(fileno(file), &info) != 0) fail(path);
  size_t size = (size_t)info.st_size;
  uint8_t *bytes = malloc(size ? size : 1);
  if (!bytes || fread(bytes, 1, size, file) != size) fail(path);
  fclose(file);
  LLVMFuzzerTestOneInput(bytes, size);
  free(bytes);
  ran++;
}

static void run_folder(const char *path) {
  struct dirent **entries;
  int count = scandir(path, &entries, NULL, alphasort);
  if (count < 0) fail(path);
  for (int i = 0; i < count; i++) {
    char file[4096];
    snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
    if (entries[i]->d_name[0] != '.') run_file(file);
    free(entries[i]);
  }
  free(entries);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    struct stat info;
    if (stat(argv[i], &info) != 0) fail(argv[i]);
    if (S_ISDIR(info.st_mode))
      run_folder(argv[i]);
    else
      run_file(argv[i]);
  }
  printf("%zu inputs\n", ran);
  return ran ? EXIT_SUCCESS : EXIT_FAILURE;
}
