#include "text/digest.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

/* A million letters, as the standard's long example. */
static char million[1000000];

static void assert_digest(const char *bytes, size_t size,
                          const char *expected) {
  unsigned char digest[LLMPROF_SHA256_SIZE];
  char hex[2 * LLMPROF_SHA256_SIZE + 1];
  llmprof_sha256(bytes, size, digest);
  for (size_t i = 0; i < sizeof digest; i++)
    (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
  assert_string_equal(hex, expected);
}

/* The examples of FIPS 180-4. */
TEST(examples) {
  static const char two_blocks[] =
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  assert_digest(
      NULL, 0,
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_digest(
      "abc", 3,
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_digest(
      two_blocks, strlen(two_blocks),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  memset(million, 'a', sizeof million);
  assert_digest(
      million, sizeof million,
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The length needs a block of its own from 56 bytes on. */
TEST(padding) {
  static const struct {
    size_t size;
    const char *expected;
  } cases[] = {
      {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
      {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
      {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
  };
  char letters[64];
  memset(letters, 'a', sizeof letters);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_digest(letters, cases[i].size, cases[i].expected);
}

/* The examples of RFC 4648, and bytes that need the last letters. */
TEST(base64) {
  static const struct {
    const char *bytes, *expected;
  } cases[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {"\xFF\xEF\xBF", "/++/"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    llmprof_buffer buf = {0};
    llmprof_base64(&buf, cases[i].bytes, strlen(cases[i].bytes));
    assert_string_equal(buf.bytes ? buf.bytes : "", cases[i].expected);
    llmprof_buffer_free(&buf);
  }
}
