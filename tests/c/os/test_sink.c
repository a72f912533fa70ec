/* Files written in pieces, and bytes packed in memory. */
#include "os/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "os/fs.h"
#include "os/gzip.h"
#include "os/packing.h"
#include "support.h"

static llmprof_buffer text_of(size_t size) {
  llmprof_buffer text = {0};
  for (unsigned i = 0; text.size < size; i++)
    llmprof_buffer_printf(&text, "{\"ts\":%u,\"name\":\"kernel_%u\"}",
                          i * 2654435761u, i % 7);
  text.size = size;
  return text;
}

/* One member, and nothing behind it. */
static void assert_unpacks(const void *packed, size_t size,
                           const llmprof_buffer *text) {
  unsigned char *room = malloc(text->size + 1);
  z_stream z = {.next_in = (unsigned char *)packed,
                .avail_in = (uInt)size,
                .next_out = room,
                .avail_out = (uInt)text->size + 1};
  assert_int_equal(inflateInit2(&z, LLMPROF_GZIP_WINDOW), Z_OK);
  assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
  assert_int_equal(z.total_out, text->size);
  assert_int_equal(z.avail_in, 0);
  if (text->size) assert_memory_equal(room, text->bytes, text->size);
  inflateEnd(&z);
  free(room);
}

static bool write_text(const llmprof_buffer *text, bool packed, size_t step,
                       llmprof_error *err) {
  llmprof_buffer piece = {0};
  llmprof_sink *sink =
      llmprof_sink_open(test_in_folder("written"), packed, err);
  bool ok = sink != NULL;
  for (size_t at = 0; ok && at < text->size; at += step) {
    size_t left = text->size - at;
    llmprof_buffer_add(&piece, text->bytes + at, left < step ? left : step);
    ok = llmprof_sink_write(sink, &piece, err);
  }
  llmprof_buffer_free(&piece);
  if (ok) return llmprof_sink_commit(sink, err);
  llmprof_sink_discard(sink);
  return false;
}

TEST(pieces) {
  static const size_t sizes[] = {0, 1, 65536, 1000003};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    llmprof_buffer text = text_of(sizes[i]);
    for (size_t step = 70001; step < 2000000; step *= 5) {
      llmprof_error err = {0};
      llmprof_buffer file = {0};
      assert_true(write_text(&text, true, step, &err));
      assert_true(
          llmprof_fs_read(test_in_folder("written"), SIZE_MAX, &file, &err));
      assert_unpacks(file.bytes, file.size, &text);
      llmprof_buffer_clear(&file);
      assert_true(write_text(&text, false, step, &err));
      assert_true(
          llmprof_fs_read(test_in_folder("written"), SIZE_MAX, &file, &err));
      assert_int_equal(file.size, text.size);
      if (file.size) assert_memory_equal(file.bytes, text.bytes, file.size);
      llmprof_buffer_free(&file);
    }
    llmprof_buffer_free(&text);
  }
}

static bool write_packed(void *arg, llmprof_error *err) {
  return write_text(arg, true, 2, err);
}

TEST(allocations) {
  llmprof_buffer text = {.bytes = (char[]){"abc"}, .size = 3};
  test_every_allocation(write_packed, &text);
}

static bool pack_in_memory(void *arg, llmprof_error *err) {
  llmprof_buffer packed = {0};
  bool ok = llmprof_gzip(&packed, arg, 3, err);
  llmprof_buffer_free(&packed);
  return ok;
}

TEST(in_memory) {
  static const size_t sizes[] = {0, 1, 800005};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    llmprof_buffer text = text_of(sizes[i]), packed = {0};
    llmprof_error err;
    assert_true(llmprof_gzip(&packed, text.bytes, text.size, &err));
    assert_unpacks(packed.bytes, packed.size, &text);
    llmprof_buffer_free(&packed);
    llmprof_buffer_free(&text);
  }
  char three[] = "abc";
  test_every_allocation(pack_in_memory, three);
}
