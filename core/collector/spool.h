/* The spool: the file that libllmprof_collector.so writes inside of a program
 * and that core/spool reads. One file per process, only ever appended to.
 *
 * A file is a sequence of blocks. A block is a spool_block and `length` bytes
 * of records; a record is a spool_record, the rest of its struct, what follows
 * it (text, values), and zeros up to a multiple of 8. All numbers are little
 * endian, and structs have no holes but those that are named.
 *
 * - A block counts when all of it is there and its checksum agrees. A program
 *   that is killed leaves at most its last block torn: a reader ignores that
 *   and counts it, and stops there.
 * - A record kind that a reader does not know is passed over by its size. A
 *   known one may be longer than its struct: fields are only ever added at the
 *   end of the fixed part, and `fixed` of spool_record says where that ends. A
 *   shorter one is read as if zeros followed.
 * - Strings have numbers, which are defined (SPOOL_STRING) in the file before
 *   they are used. 0 is none.
 * - A block of sequence SPOOL_OF_ALL is of no process: its strings are its own,
 *   and what it says (SPOOL_GENERATED) counts for all processes in the file.
 * - Records of different kinds or threads are in no order of time. NVTX events
 *   of one thread are in the order in which they happened.
 * - Times are ns on the spool's clock, SPOOL_CLOCK ties it to others; 0 is not
 *   known, and an operation whose start or end is not known has no time.
 * - Ids of devices, contexts, streams and correlations are CUPTI's, within
 *   this process.
 */
#ifndef LLMPROF_COLLECTOR_SPOOL_H
#define LLMPROF_COLLECTOR_SPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SPOOL_MAGIC  "llmspool" /* 8 bytes, no NUL */
#define SPOOL_SUFFIX ".spool"   /* PID-STARTTIME.spool in the spool's folder */
#define SPOOL_LOST   ".lost"    /* behind that: why data is missing (a link) */

enum {
  SPOOL_VERSION = 1,
  SPOOL_MAGIC_SIZE = 8,
  SPOOL_ALIGN = 8,
  SPOOL_BLOCK_MAX = 16 << 20, /* bytes of records in a block */
};

#define SPOOL_NO_ID  UINT32_MAX /* of a device, context or stream: none */
#define SPOOL_OF_ALL UINT32_MAX /* sequence: in place of a process's next */

typedef struct spool_block {
  char magic[SPOOL_MAGIC_SIZE];
  uint16_t version;
  uint16_t reserved;
  uint32_t sequence; /* 0 for the first of a file, then one more each */
  uint32_t length;   /* bytes of records, a multiple of 8 */
  uint32_t records;
  uint64_t checksum; /* spool_checksum of the block, this field as 0 */
} spool_block;

/* FNV-1a over 64-bit words instead of bytes, since every size is a multiple of
 * 8: one changed word always changes the sum. */
#define SPOOL_CHECKSUM_START UINT64_C(14695981039346656037)

static inline uint64_t spool_checksum(uint64_t sum, const void *bytes,
                                      size_t size) {
  const unsigned char *at = (const unsigned char *)bytes;
  for (size_t i = 0; i + 8 <= size; i += 8) {
    uint64_t word;
    memcpy(&word, at + i, sizeof word);
    sum = (sum ^ word) * UINT64_C(1099511628211);
  }
  return sum;
}

/* The checksum that belongs into the block whose records are these. */
static inline uint64_t spool_block_checksum(const spool_block *block,
                                            const void *records) {
  spool_block copy = *block;
  copy.checksum = 0;
  uint64_t sum = spool_checksum(SPOOL_CHECKSUM_START, &copy, sizeof copy);
  return spool_checksum(sum, records, block->length);
}

/* Numbers are for good: new ones are added, old ones never change. */
typedef enum spool_kind {
  SPOOL_STRING = 1,
  SPOOL_CLOCK = 2,
  SPOOL_PROCESS = 3,
  SPOOL_THREAD = 4,
  SPOOL_DEVICE = 5,
  /* 6 and 7 were contexts and streams, which operations name */
  SPOOL_MODULE = 8,
  SPOOL_SOURCE_FRAME = 9,
  SPOOL_KERNEL = 10,
  SPOOL_MEMCPY = 11,
  SPOOL_MEMSET = 12,
  /* 13 was the host's waiting, which calls tell */
  SPOOL_GRAPH = 14,
  SPOOL_CALL = 15,
  /* 16 was time that CUPTI took for itself, 17 a node of a graph */
  SPOOL_SOURCE_STACK = 18,
  SPOOL_GENERATED = 19,
  SPOOL_NVTX_DOMAIN = 20,
  SPOOL_NVTX_CATEGORY = 21,
  SPOOL_NVTX_EVENT = 22,
  SPOOL_NVTX_SCHEMA = 23,
  SPOOL_UNIT = 30,
  SPOOL_METRIC = 31,
  SPOOL_COUNTERS = 32,
  SPOOL_SAMPLE = 33,
  SPOOL_DROPS = 40,
  SPOOL_DIAGNOSTIC = 41,
  SPOOL_END = 42,
} spool_kind;

typedef struct spool_record {
  uint32_t size;  /* all of the record with its padding, a multiple of 8 */
  uint16_t kind;  /* spool_kind */
  uint16_t fixed; /* bytes of the struct; what follows it starts there */
} spool_record;

/* ---- what the rest refers to ---- */

typedef struct spool_string {
  spool_record record;
  uint32_t id;
  uint32_t length; /* bytes that follow, any but NUL; UTF-8 as a rule */
} spool_string;

/* The same moment on three clocks. At least one is near the start and one near
 * the end of a file. */
typedef struct spool_clock {
  spool_record record;
  int64_t time;      /* the spool's clock */
  int64_t realtime;  /* ns since the epoch */
  int64_t monotonic; /* ns, CLOCK_MONOTONIC of this host since its boot */
} spool_clock;

/* The first record of a file but for strings. */
typedef struct spool_process {
  spool_record record;
  int64_t start; /* when the collector was loaded */
  uint32_t pid;
  uint32_t parent;
  uint32_t name;    /* string: the program's file name, and " rank N" where
                     * the environment has RANK */
  uint32_t host;    /* string */
  uint32_t product; /* string: version of the collector */
  uint32_t cupti;   /* cuptiGetVersion, 130001 for 13.0.1; 0: no CUPTI yet */
  uint32_t driver;  /* cuDriverGetVersion, 13000 for 13.0; 0: not known */
  uint32_t boot;    /* string: the host's boot id; same id, same monotonic */
} spool_process;    /* may come again when more is known; the last counts */

/* A thread that did something; a later record renames it. */
typedef struct spool_thread {
  spool_record record;
  uint32_t tid; /* of the system */
  uint32_t name;
} spool_thread;

/* Figures are 0 where they are not known. */
typedef struct spool_device {
  spool_record record;
  uint32_t device; /* CUDA's ordinal in this process */
  uint32_t name;   /* string */
  uint8_t uuid[16];
  uint32_t pci_domain, pci_bus, pci_device;
  uint32_t multiprocessors;
  uint32_t compute_major, compute_minor;
  uint64_t memory;           /* bytes */
  uint64_t memory_bandwidth; /* bytes per second, theoretical */
  uint64_t l2_cache;         /* bytes */
  uint64_t clock;            /* Hz, the most */
  uint32_t chip;             /* string: "GH100" */
  uint32_t reserved;
} spool_device;

/* ---- where in the source ---- */

/* A torch.nn.Module; comes again when its name becomes known. */
typedef struct spool_module {
  spool_record record;
  uint32_t module; /* from 1 */
  uint32_t path;   /* string: names below the outermost module that was seen,
                      "layers.7.mlp"; 0 of that one, and where none is known */
  uint32_t root;   /* string: class of the outermost module */
  uint32_t known;  /* 1: it was found below that module, or is it */
} spool_module;

/* A line of a function that was on a stack. */
typedef struct spool_source_frame {
  spool_record record;
  uint32_t frame;    /* from 1 */
  uint32_t file;     /* string: as Python has it */
  uint32_t function; /* string, with its class: "MLP.forward" */
  uint32_t line;     /* from 1; 0: not known */
  uint32_t module;   /* whose code it runs for, 0: none */
  uint32_t reserved;
} spool_source_frame;

typedef struct spool_source_stack {
  spool_record record;
  uint32_t stack;  /* from 1 */
  uint32_t parent; /* stack of the caller, 0: it is the outermost */
  uint32_t frame;
  uint32_t reserved;
} spool_source_stack;

typedef struct spool_line {
  uint32_t file, function; /* strings */
  uint32_t line;
  uint32_t module; /* string; 0: the one around */
} spool_line;

/* A line of a file that torch.compile generated; `lines` of spool_line follow:
 * the stack, outermost first, that it was made of. */
typedef struct spool_generated {
  spool_record record;
  uint32_t file; /* string */
  uint32_t line;
  uint32_t lines;
  uint32_t reserved;
} spool_generated;

/* ---- operations of the GPU ---- */

typedef struct spool_kernel {
  spool_record record;
  int64_t start, end;
  int64_t queued, submitted; /* 0: not recorded */
  uint32_t name;             /* string: as the driver has it (mangled) */
  uint32_t device, context, stream;
  uint32_t correlation;
  uint32_t grid[3], block[3];
  uint32_t registers;      /* per thread */
  uint32_t static_shared;  /* bytes per block */
  uint32_t dynamic_shared; /* bytes per block */
  uint32_t shared_executed;
  uint32_t local_per_thread;
  uint64_t local_total;
  uint64_t graph_node; /* 0: not of a graph */
  int64_t grid_id;
  uint32_t graph;       /* id of the graph, 0: none */
  uint8_t launch_type;  /* CUPTI: 0 regular, 1, 2 cooperative */
  uint8_t cache_config; /* CUpti: requested * 16 + executed */
  uint8_t shared_limit; /* CUPTI's sharedMemoryCarveoutRequested as far as
                           known */
  uint8_t replayed;     /* 1: launched again for counters, time is no use */
  uint32_t stack;       /* that launched it, or made the node of the graph; 0:
                           not known */
  uint32_t reserved;
} spool_kernel;

typedef struct spool_memcpy {
  spool_record record;
  int64_t start, end;
  uint64_t bytes;
  uint64_t graph_node;
  uint32_t device, context, stream;
  uint32_t correlation;
  uint8_t copy_kind;          /* CUpti_ActivityMemcpyKind, 10: peer to peer */
  uint8_t src_kind, dst_kind; /* CUpti_ActivityMemoryKind */
  uint8_t flags;              /* 1: asynchronous */
  uint32_t src_device, src_context; /* of peer to peer, else SPOOL_NO_ID */
  uint32_t dst_device, dst_context;
  uint32_t graph;
  uint32_t stack; /* as of kernels, here and below */
  uint32_t reserved;
} spool_memcpy;

typedef struct spool_memset {
  spool_record record;
  int64_t start, end;
  uint64_t bytes;
  uint64_t graph_node;
  uint32_t device, context, stream;
  uint32_t correlation;
  uint32_t value;
  uint32_t memory_kind; /* CUpti_ActivityMemoryKind */
  uint32_t graph;
  uint32_t stack;
} spool_memset;

/* A whole launch of a graph, where graphs are recorded as one. */
typedef struct spool_graph {
  spool_record record;
  int64_t start, end;
  uint32_t device, context, stream;
  uint32_t correlation;
  uint32_t graph, graph_exec; /* 0: not known */
  uint32_t stack;             /* that launched the graph */
  uint32_t reserved;
} spool_graph;

/* A call of the runtime's or the driver's interface. Where one is inside of
 * the other both may be here, in either order, with the same correlation:
 * readers leave out the driver's. */
typedef struct spool_call {
  spool_record record;
  int64_t start, end;
  uint32_t name; /* string: "cudaLaunchKernel_v7000", "cuLaunchKernelEx" */
  uint32_t tid;
  uint32_t correlation;
  uint32_t result; /* cudaError_t or CUresult */
  uint32_t cbid;   /* CUPTI's number of the function */
  uint32_t driver; /* 0 runtime, 1 driver */
} spool_call;

/* ---- NVTX ---- */

/* Domain 0 is the default one and has no record. Definitions of domains,
 * categories, schemas and metrics may come after their use. */
typedef struct spool_nvtx_domain {
  spool_record record;
  uint32_t domain;
  uint32_t name;
} spool_nvtx_domain;

typedef struct spool_nvtx_category {
  spool_record record;
  uint32_t domain;
  uint32_t category;
  uint32_t name;
  uint32_t reserved;
} spool_nvtx_category;

typedef enum spool_nvtx_type {
  SPOOL_NVTX_PUSH = 1,
  SPOOL_NVTX_POP = 2,   /* ends the last open push of its thread and domain */
  SPOOL_NVTX_START = 3, /* range_id is new in this process */
  SPOOL_NVTX_END = 4,   /* may be on another thread than its start */
  SPOOL_NVTX_MARK = 5,
} spool_nvtx_type;

/* Payload types, NVTX's numbers. */
typedef enum spool_nvtx_payload {
  SPOOL_PAYLOAD_NONE = 0,
  SPOOL_PAYLOAD_U64 = 1,
  SPOOL_PAYLOAD_I64 = 2,
  SPOOL_PAYLOAD_DOUBLE = 3,
  SPOOL_PAYLOAD_U32 = 4,
  SPOOL_PAYLOAD_I32 = 5,
  SPOOL_PAYLOAD_FLOAT = 6,
  SPOOL_PAYLOAD_BINARY = 100, /* `blobs` of them follow */
} spool_nvtx_payload;

typedef struct spool_nvtx_event {
  spool_record record;
  int64_t time;
  uint64_t range_id; /* START and END, else 0 */
  uint64_t payload;  /* bits of the value, in the low bytes */
  uint32_t tid;
  uint32_t domain;
  uint32_t category;    /* 0: none */
  uint32_t message;     /* string, 0: none */
  uint32_t color;       /* ARGB where has_color */
  uint16_t type;        /* spool_nvtx_type */
  uint8_t payload_type; /* spool_nvtx_payload */
  uint8_t has_color;
  uint8_t registered; /* 1: the message is a registered string */
  uint8_t reserved;
  uint16_t blobs; /* spool_nvtx_blob that follow, each padded to 8 */
  uint32_t reserved2;
} spool_nvtx_event;

typedef struct spool_nvtx_blob {
  uint64_t schema; /* id within the domain; 0: not known */
  uint32_t size;   /* bytes that follow */
  uint32_t cut;    /* bytes more that were there but were not kept */
} spool_nvtx_blob;

/* `entries` of spool_nvtx_entry follow. */
typedef struct spool_nvtx_schema {
  spool_record record;
  uint64_t schema;
  uint32_t domain;
  uint32_t name;
  uint32_t type;  /* NVTX_PAYLOAD_SCHEMA_TYPE_*: 1 static, 2 dynamic, ... */
  uint32_t flags; /* NVTX_PAYLOAD_SCHEMA_FLAG_* */
  uint64_t static_size; /* bytes */
  uint32_t pack_align;
  uint32_t entries;
} spool_nvtx_schema;

typedef struct spool_nvtx_entry {
  uint64_t flags; /* NVTX_PAYLOAD_ENTRY_FLAG_* */
  uint64_t type;  /* NVTX_PAYLOAD_ENTRY_TYPE_* or a schema's id */
  uint64_t array; /* length or index, as the flags say */
  uint64_t offset;
  uint32_t name, description; /* strings */
} spool_nvtx_entry;

/* ---- units, counters, samples ---- */

typedef enum spool_unit_type {
  SPOOL_UNIT_PLAIN = 1,     /* nothing was recorded, only its ends */
  SPOOL_UNIT_TIMELINE = 2,  /* operations, calls, with samples if asked for */
  SPOOL_UNIT_COUNTERS = 3,  /* counters of chosen launches */
  SPOOL_UNIT_OTHER = 4,     /* what the program did between units: set-up */
  SPOOL_UNIT_OPERATORS = 5, /* as for the timeline; a range for each operator */
} spool_unit_type;

/* One end of a unit. Each has a begin; the last may have no end. */
typedef struct spool_unit {
  spool_record record;
  int64_t time;
  uint32_t unit; /* from 1 */
  uint16_t type; /* spool_unit_type */
  uint16_t end;  /* 0 begins, 1 ends */
  uint32_t name; /* string: the range that it is, or 0 */
  uint32_t tid;  /* thread of that range */
} spool_unit;

typedef struct spool_metric {
  spool_record record;
  uint32_t metric; /* from 1 */
  uint32_t name;   /* string: NVIDIA's name of it */
  uint32_t unit;   /* string or 0: not known */
  uint32_t reserved;
} spool_metric;

typedef struct spool_value {
  uint32_t metric;
  uint32_t reserved;
  double value;
} spool_value;

/* A launch whose counters were wanted; `values` of spool_value follow, none
 * where it could not be measured. */
typedef struct spool_counters {
  spool_record record;
  int64_t start, end; /* of all of the measurement, with its passes */
  uint32_t launch;    /* from 1 */
  uint32_t unit;
  uint32_t name; /* string: the kernel as the driver has it */
  uint32_t device, context, stream;
  uint32_t correlation;
  uint32_t tid;
  uint32_t grid[3], block[3];
  uint32_t dynamic_shared; /* bytes */
  uint32_t ordinal; /* of this kernel and configuration in its stage, from 0 */
  uint32_t stage;   /* string: range of the plan that it is in, or 0 */
  uint32_t ranges;  /* string: open ranges, outermost first, '/' between */
  uint32_t passes;
  uint32_t flushed; /* 1: L2 was emptied before each pass */
  uint32_t error;   /* 0 measured; else CUptiResult, or SPOOL_ERROR_* */
  uint32_t values;
  uint32_t graph; /* all of a launch of this executable graph; 0: a kernel */
  uint32_t reserved;
} spool_counters;

enum {
  SPOOL_ERROR_NO_DATA = 10001, /* the profiler gave no value */
  SPOOL_ERROR_BUDGET = 10002,  /* the time for counters was used up */
  SPOOL_ERROR_WAITS = 10003,   /* it may wait for another GPU or process */
};

/* Hardware counters over an interval; `values` of spool_value follow. */
typedef struct spool_sample {
  spool_record record;
  int64_t start, end;
  uint32_t device;
  uint32_t values;
} spool_sample;

/* ---- how it went ---- */

typedef enum spool_lost {
  SPOOL_LOST_ACTIVITY = 1, /* records that CUPTI dropped */
  SPOOL_LOST_BUFFERS = 2,  /* CUPTI asked for a buffer, none was free */
  SPOOL_LOST_NVTX = 3,     /* NVTX events, no buffer was free */
  SPOOL_LOST_WRITE =
      4, /* bytes that the file did not take; not written any more */
  SPOOL_LOST_SAMPLES = 5, /* hardware samples: overflow */
  SPOOL_LOST_BROKEN = 6,  /* operations without a time */
  SPOOL_LOST_UNKNOWN = 7, /* records of a kind or size that is not known */
} spool_lost;

/* So much more was lost since the last record of this kind. */
typedef struct spool_drops {
  spool_record record;
  int64_t time;
  uint32_t what; /* spool_lost */
  uint32_t reserved;
  uint64_t count;
} spool_drops;

typedef enum spool_severity {
  SPOOL_INFO = 1,
  SPOOL_WARNING = 2,
  SPOOL_ERROR = 3,
} spool_severity;

/* One line for people, and a word for programs. */
typedef struct spool_diagnostic {
  spool_record record;
  int64_t time;
  uint32_t severity;
  uint32_t code; /* string: "cupti_busy", "no_permission", ... */
  uint32_t text; /* string */
  uint32_t reserved;
} spool_diagnostic;

/* Nothing is being recorded, and all that was is in the file: the last record
 * of a process that ended in order, and one between two units. */
typedef struct spool_end {
  spool_record record;
  int64_t time;
  uint64_t records; /* in this file, this one not counted */
  uint32_t reason;  /* string: "exit", "signal", "fork", "asked",
                       "between units" */
  uint32_t reserved;
} spool_end;

_Static_assert(sizeof(spool_block) == 32, "layout");
_Static_assert(sizeof(spool_record) == 8, "layout");
_Static_assert(sizeof(spool_string) == 16, "layout");
_Static_assert(sizeof(spool_clock) == 32, "layout");
_Static_assert(sizeof(spool_process) == 48, "layout");
_Static_assert(sizeof(spool_thread) == 16, "layout");
_Static_assert(sizeof(spool_device) == 96, "layout");
_Static_assert(sizeof(spool_module) == 24, "layout");
_Static_assert(sizeof(spool_source_frame) == 32, "layout");
_Static_assert(sizeof(spool_source_stack) == 24, "layout");
_Static_assert(sizeof(spool_line) == 16, "layout");
_Static_assert(sizeof(spool_generated) == 24, "layout");
_Static_assert(sizeof(spool_kernel) == 144, "layout");
_Static_assert(sizeof(spool_memcpy) == 88, "layout");
_Static_assert(sizeof(spool_memset) == 72, "layout");
_Static_assert(sizeof(spool_graph) == 56, "layout");
_Static_assert(sizeof(spool_call) == 48, "layout");
_Static_assert(sizeof(spool_nvtx_domain) == 16, "layout");
_Static_assert(sizeof(spool_nvtx_category) == 24, "layout");
_Static_assert(sizeof(spool_nvtx_event) == 64, "layout");
_Static_assert(sizeof(spool_nvtx_blob) == 16, "layout");
_Static_assert(sizeof(spool_nvtx_schema) == 48, "layout");
_Static_assert(sizeof(spool_nvtx_entry) == 40, "layout");
_Static_assert(sizeof(spool_unit) == 32, "layout");
_Static_assert(sizeof(spool_metric) == 24, "layout");
_Static_assert(sizeof(spool_value) == 16, "layout");
_Static_assert(sizeof(spool_counters) == 120, "layout");
_Static_assert(sizeof(spool_sample) == 32, "layout");
_Static_assert(sizeof(spool_drops) == 32, "layout");
_Static_assert(sizeof(spool_diagnostic) == 32, "layout");
_Static_assert(sizeof(spool_end) == 32, "layout");

#endif
