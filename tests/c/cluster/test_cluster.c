/* Messages between processes, with plugins that have no MPI. */
#include "cluster/cluster.h"

#include <stdio.h>

#include "base/interrupt.h"
#include "support.h"

static llmprof_cluster *open_fake(const char *variant, llmprof_error *err) {
  char path[512];
  snprintf(path, sizeof path, LIBRARIES "/libfake_mpi_%s.so", variant);
  return llmprof_cluster_open(path, err);
}

static llmprof_cluster *must_open(const char *variant) {
  llmprof_error err;
  llmprof_cluster *cluster = open_fake(variant, &err);
  if (!cluster) fail_msg("%s", err.message);
  return cluster;
}

TEST(knows_its_place) {
  llmprof_cluster *cluster = must_open("full");
  assert_int_equal(llmprof_cluster_rank(cluster), 0);
  assert_int_equal(llmprof_cluster_size(cluster), 2);
  assert_string_equal(llmprof_cluster_library(cluster), "No MPI");
  llmprof_cluster_close(cluster);
  llmprof_cluster_close(NULL);
}

TEST(messages_are_whole) {
  static const char zeros[300] = "a\0b";
  llmprof_cluster *cluster = must_open("full");
  llmprof_buffer got = {0};
  llmprof_error err;
  assert_true(llmprof_cluster_send(cluster, 1, zeros, sizeof zeros, -1, &err));
  assert_true(llmprof_cluster_send(cluster, 1, "", 0, -1, &err));
  assert_true(llmprof_cluster_send(cluster, 1, "end", 3, 1000, &err));
  assert_true(llmprof_cluster_receive(cluster, 1, &got, -1, &err));
  assert_int_equal(got.size, sizeof zeros);
  assert_memory_equal(got.bytes, zeros, sizeof zeros);
  assert_true(llmprof_cluster_receive(cluster, 1, &got, -1, &err));
  assert_int_equal(got.size, 0);
  assert_true(llmprof_cluster_receive(cluster, 1, &got, -1, &err));
  assert_string_equal(got.bytes, "end");
  llmprof_buffer_free(&got);
  llmprof_cluster_close(cluster);
}

static void refused(llmprof_cluster *cluster, size_t peer) {
  llmprof_error err;
  llmprof_buffer got = {0};
  assert_false(llmprof_cluster_send(cluster, peer, "x", 1, -1, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  assert_false(llmprof_cluster_receive(cluster, peer, &got, -1, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  llmprof_buffer_free(&got);
}

TEST(nobody_there) {
  llmprof_cluster *cluster = must_open("full");
  llmprof_error err;
  refused(cluster, 0);
  refused(cluster, 2);
  assert_true(llmprof_cluster_finish(cluster, -1, &err));
  assert_true(llmprof_cluster_finish(cluster, -1, &err));
  refused(cluster, 1);
  llmprof_cluster_abandon(cluster, 1);
  llmprof_cluster_close(cluster);
}

TEST(silence) {
  llmprof_cluster *cluster = must_open("mute");
  llmprof_buffer got = {0};
  llmprof_error err;
  assert_false(llmprof_cluster_receive(cluster, 1, &got, 1, &err));
  assert_int_equal(err.code, LLMPROF_LIMIT);
  assert_string_equal(err.message,
                      "process 1 of 2 was not heard of for too long");
  assert_false(llmprof_cluster_finish(cluster, 1, &err));
  assert_string_equal(err.message,
                      "one of 2 processes was not heard of for too long");
  llmprof_interrupt(true);
  assert_false(llmprof_cluster_send(cluster, 1, "x", 1, -1, &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  llmprof_interrupt(false);
  llmprof_buffer_free(&got);
  llmprof_cluster_close(cluster);
}

TEST(lost) {
  llmprof_cluster *cluster = must_open("lost");
  llmprof_error err;
  assert_false(llmprof_cluster_send(cluster, 1, "x", 1, -1, &err));
  assert_int_equal(err.code, LLMPROF_LIMIT);
  assert_string_equal(err.message, "process 1 of 2 cannot be reached");
  llmprof_cluster_close(cluster);
}

TEST(plugins_that_are_none) {
  llmprof_error err;
  assert_null(open_fake("nowhere", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_null(open_fake("other", &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  assert_null(open_fake("dead", &err));
  assert_int_equal(err.code, LLMPROF_IO);
  assert_string_equal(err.message, "No MPI does not begin");
}
