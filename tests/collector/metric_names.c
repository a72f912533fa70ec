/* What CUPTI's host side says of sets of metrics on a chip, which needs no GPU:
 *
 *   metric_names CHIP < SETS
 *
 * A line "#NAME" begins a set, the others are metrics, several names with "|"
 * between them, of which the first counts that the chip has. Printed are, in
 * order, "lacks LINE" of what it has none of, and "NAME PASSES" at the end of a
 * set. Exit status 77: no libcupti with counters. */
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST = 256,
  LINE = 512
};

/* A variable of a struct of CUPTI's parameters. */
#define PARAMS(type, name)       \
  type name;                     \
  memset(&name, 0, sizeof name); \
  name.structSize = type##_STRUCT_SIZE

#define FUNCTIONS(X)                     \
  X(cuptiProfilerInitialize)             \
  X(cuptiProfilerHostInitialize)         \
  X(cuptiProfilerHostDeinitialize)       \
  X(cuptiProfilerHostConfigAddMetrics)   \
  X(cuptiProfilerHostGetConfigImageSize) \
  X(cuptiProfilerHostGetConfigImage)     \
  X(cuptiProfilerHostGetNumOfPasses)

static struct {
#define X(name) __typeof__(name) *name;
  FUNCTIONS(X)
#undef X
} cupti;

static bool load(void) {
  static const char *const places[] = {
      "libcupti.so.13", "libcupti.so.12", "libcupti.so",
      "/usr/local/cuda/lib64/libcupti.so",
      "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
  void *library = NULL;
  for (size_t i = 0; !library && i < sizeof places / sizeof *places; i++)
    library = dlopen(places[i], RTLD_NOW);
  if (!library) return false;
#define X(name)                                  \
  *(void **)&cupti.name = dlsym(library, #name); \
  if (!cupti.name) return false;
  FUNCTIONS(X)
#undef X
  /* what it tells is for a driver, which need not be there */
  PARAMS(CUpti_Profiler_Initialize_Params, p);
  (void)cupti.cuptiProfilerInitialize(&p);
  return true;
}

static CUpti_Profiler_Host_Object *open_host(const char *chip) {
  PARAMS(CUpti_Profiler_Host_Initialize_Params, p);
  p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  p.pChipName = chip;
  if (cupti.cuptiProfilerHostInitialize(&p) == CUPTI_SUCCESS)
    return p.pHostObject;
  fprintf(stderr, "%s: CUPTI does not know this chip\n", chip);
  exit(1);
}

static void close_host(CUpti_Profiler_Host_Object *host) {
  PARAMS(CUpti_Profiler_Host_Deinitialize_Params, p);
  p.pHostObject = host;
  (void)cupti.cuptiProfilerHostDeinitialize(&p);
}

static bool add(CUpti_Profiler_Host_Object *host, const char **names,
                size_t count) {
  PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, p);
  p.pHostObject = host;
  p.ppMetricNames = names;
  p.numMetrics = count;
  return cupti.cuptiProfilerHostConfigAddMetrics(&p) == CUPTI_SUCCESS;
}

/* Passes of all that was added; 0: CUPTI does not say. */
static size_t count_passes(CUpti_Profiler_Host_Object *host) {
  PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
  PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
  size.pHostObject = image.pHostObject = host;
  if (cupti.cuptiProfilerHostGetConfigImageSize(&size) != CUPTI_SUCCESS)
    return 0;
  image.configImageSize = passes.configImageSize = size.configImageSize;
  image.pConfigImage = passes.pConfigImage = calloc(1, size.configImageSize);
  bool ok = image.pConfigImage &&
            cupti.cuptiProfilerHostGetConfigImage(&image) == CUPTI_SUCCESS &&
            cupti.cuptiProfilerHostGetNumOfPasses(&passes) == CUPTI_SUCCESS;
  free(image.pConfigImage);
  return ok ? passes.numOfPasses : 0;
}

/* A metric that the chip lacks spoils what it is added to, so that is tried
 * with another. */
static bool has(const char *chip, CUpti_Profiler_Host_Object **spare,
                const char *name) {
  if (add(*spare, &name, 1)) return true;
  close_host(*spare);
  *spare = open_host(chip);
  return false;
}

/* The first of the names in a line that the chip has, copied; NULL: none. */
static char *choose(const char *chip, CUpti_Profiler_Host_Object **spare,
                    const char *line) {
  char names[LINE];
  snprintf(names, sizeof names, "%s", line);
  for (char *rest = names, *name; (name = strsep(&rest, "|"));)
    if (has(chip, spare, name)) return strdup(name);
  return NULL;
}

/* Metrics are added at once: one by one each takes passes of its own. */
static void end_set(const char *chip, const char *set, const char **names,
                    size_t count) {
  CUpti_Profiler_Host_Object *host = open_host(chip);
  printf("%s %zu\n", set, add(host, names, count) ? count_passes(host) : 0);
  close_host(host);
  while (count) free((char *)names[--count]);
}

int main(int argc, char *argv[]) {
  if (argc != 2) return 2;
  if (!load()) return 77;
  CUpti_Profiler_Host_Object *spare = open_host(argv[1]);
  const char *names[MOST];
  char line[LINE], set[LINE] = "";
  size_t count = 0;
  for (bool more = true; more;) {
    more = fgets(line, sizeof line, stdin);
    line[more ? strcspn(line, "\n") : 0] = '\0';
    if (!more || *line == '#') {
      if (count) end_set(argv[1], set, names, count);
      count = 0;
      snprintf(set, sizeof set, "%s", line + (*line == '#'));
    } else if (*line && count < MOST) {
      names[count] = choose(argv[1], &spare, line);
      if (names[count])
        count++;
      else
        printf("lacks %s\n", line);
    }
  }
  close_host(spare);
  return 0;
}
