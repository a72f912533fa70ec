#include "spools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(unsigned char **bytes, size_t *cap, size_t need) {
  if (need <= *cap) return;
  *cap = need * 2;
  *bytes = realloc(*bytes, *cap);
  if (!*bytes) abort();
}

void spool_put_bytes(spool_maker *m, const void *bytes, size_t size) {
  reserve(&m->records, &m->records_cap, m->length + size + 1);
  memcpy(m->records + m->length, bytes, size);
  m->length += size;
  m->count++;
}

void spool_put(spool_maker *m, spool_kind kind, void *record, size_t fixed,
               const void *more, size_t more_size) {
  static const unsigned char zeros[SPOOL_ALIGN];
  size_t padding = (SPOOL_ALIGN - more_size % SPOOL_ALIGN) % SPOOL_ALIGN;
  const spool_record head = {(uint32_t)(fixed + more_size + padding),
                             (uint16_t)kind, (uint16_t)fixed};
  memcpy(record, &head, sizeof head);
  spool_put_bytes(m, record, fixed);
  if (more_size) {
    spool_put_bytes(m, more, more_size);
    spool_put_bytes(m, zeros, padding);
    m->count -= 2;
  }
}

uint32_t spool_put_string(spool_maker *m, const char *text) {
  spool_string string = {.id = ++m->strings, .length = (uint32_t)strlen(text)};
  spool_put(m, SPOOL_STRING, &string, sizeof string, text, strlen(text));
  return string.id;
}

void spool_end_block(spool_maker *m) {
  spool_block block = {.version = SPOOL_VERSION,
                       .sequence = m->sequence++,
                       .length = (uint32_t)m->length,
                       .records = m->count};
  memcpy(block.magic, SPOOL_MAGIC, SPOOL_MAGIC_SIZE);
  block.checksum = spool_block_checksum(&block, m->records);
  reserve(&m->file, &m->cap, m->size + sizeof block + m->length);
  memcpy(m->file + m->size, &block, sizeof block);
  if (m->length)
    memcpy(m->file + m->size + sizeof block, m->records, m->length);
  m->size += sizeof block + m->length;
  m->length = m->count = 0;
}

void spool_end_section(spool_maker *m) {
  if (m->length) spool_end_block(m);
  m->sequence = m->strings = 0;
}

void spool_free(spool_maker *m) {
  free(m->file);
  free(m->records);
  *m = (spool_maker){0};
}

void spool_put_process(spool_maker *m, const spool_who *who) {
  spool_process process = {.start = who->start,
                           .pid = who->pid,
                           .parent = 1,
                           .name = spool_put_string(m, who->name),
                           .product = spool_put_string(m, "0.1.0"),
                           .cupti = 130001,
                           .driver = 13000,
                           .boot = spool_put_string(m, who->boot)};
  spool_clock clock = {.time = who->start,
                       .realtime = who->realtime,
                       .monotonic = who->monotonic};
  SPOOL_PUT(m, SPOOL_PROCESS, process);
  SPOOL_PUT(m, SPOOL_CLOCK, clock);
}

void spool_put_nvtx(spool_maker *m, spool_nvtx_type type, int64_t time,
                    uint32_t tid, uint32_t message, uint64_t range) {
  spool_nvtx_event event = {.time = time,
                            .range_id = range,
                            .tid = tid,
                            .message = message,
                            .type = (uint16_t)type};
  SPOOL_PUT(m, SPOOL_NVTX_EVENT, event);
}

void spool_put_unit(spool_maker *m, uint32_t unit, spool_unit_type type,
                    bool end, int64_t time) {
  spool_unit record = {
      .time = time, .unit = unit, .type = (uint16_t)type, .end = end};
  SPOOL_PUT(m, SPOOL_UNIT, record);
}

void spool_put_launch(spool_maker *m, const spool_launch *launch) {
  spool_call call = {.start = launch->start,
                     .end = launch->start + 400,
                     .name = launch->call,
                     .tid = launch->tid,
                     .correlation = launch->correlation,
                     .cbid = 211};
  spool_kernel kernel = {.start = call.end + launch->late,
                         .end = call.end + launch->late + launch->duration,
                         .name = launch->kernel,
                         .device = launch->device,
                         .context = 1,
                         .stream = launch->stream,
                         .correlation = launch->correlation,
                         .grid = {8, 2, 1},
                         .block = {128, 1, 1},
                         .registers = 32,
                         .static_shared = 16,
                         .dynamic_shared = 1024};
  SPOOL_PUT(m, SPOOL_CALL, call);
  SPOOL_PUT(m, SPOOL_KERNEL, kernel);
}

/* ---- a model ---- */

typedef struct model_names {
  uint32_t launch, prefill, decode, gemm, add;
} model_names;

static int64_t put_stage(spool_maker *m, const spool_model *model,
                         const model_names *names, uint32_t stage, int64_t time,
                         uint32_t *correlation) {
  bool decode = stage == names->decode;
  uint32_t steps = decode ? model->steps : 1;
  spool_put_nvtx(m, SPOOL_NVTX_PUSH, time, model->who.pid, stage, 0);
  for (uint32_t step = 0; step < 2 * steps; step++) {
    const spool_launch launch = {.call = names->launch,
                                 .kernel = step % 2 ? names->add : names->gemm,
                                 .tid = model->who.pid,
                                 .correlation = ++*correlation,
                                 .stream = 7,
                                 .start = time + 1000 + step * 5000,
                                 .late = 900,
                                 .duration = decode ? 2000 : 9000};
    spool_put_launch(m, &launch);
  }
  time += 20000 + steps * 10000;
  spool_put_nvtx(m, SPOOL_NVTX_POP, time, model->who.pid, 0, 0);
  return time + 1000;
}

void spool_put_model(spool_maker *m, const spool_model *model) {
  spool_put_process(m, &model->who);
  spool_device device = {.name = spool_put_string(m, "NVIDIA H200"),
                         .uuid = {1, 2, 3},
                         .pci_bus = 24,
                         .multiprocessors = 132,
                         .compute_major = 9,
                         .memory = UINT64_C(150109880320),
                         .memory_bandwidth = UINT64_C(4814304000000),
                         .l2_cache = 62914560,
                         .clock = 1980000000,
                         .chip = spool_put_string(m, "GH100")};
  SPOOL_PUT(m, SPOOL_DEVICE, device);
  const model_names names = {.launch =
                                 spool_put_string(m, "cudaLaunchKernel_v7000"),
                             .prefill = spool_put_string(m, "prefill"),
                             .decode = spool_put_string(m, "decode"),
                             .gemm = spool_put_string(m, "_Z4gemmILi4EEvPfS0_"),
                             .add = spool_put_string(m, "_Z3addPf")};
  uint32_t correlation = 0;
  int64_t time = model->who.start + 1000000;
  for (uint32_t repeat = 0; repeat < model->repeats; repeat++) {
    time = put_stage(m, model, &names, names.prefill, time, &correlation);
    time = put_stage(m, model, &names, names.decode, time, &correlation);
    spool_end_block(m);
  }
}

void spool_put_end(spool_maker *m) {
  spool_end end = {.time = 1};
  SPOOL_PUT(m, SPOOL_END, end);
  spool_end_section(m);
}

bool spool_save(const spool_maker *m, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool ok = fwrite(m->file, 1, m->size, file) == m->size;
  return fclose(file) == 0 && ok;
}
