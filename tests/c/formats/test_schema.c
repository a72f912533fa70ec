/* What each keyword says is tried in Lua, by base/schema_spec. */
#include "formats/schema.h"

#include <string.h>

#include "formats/json.h"
#include "support.h"

static const char tree[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"properties\": {\"name\": {\"$ref\": \"other.schema.json#/$defs/word\"},"
    "  \"below\": {\"type\": \"array\", \"items\": {\"$ref\": "
    "\"#/$defs/all\"}}},"
    " \"required\": [\"name\"],"
    " \"$defs\": {\"all\": {\"$ref\": \"tree.schema.json\"}}}";
static const char other[] =
    "{\"$defs\": {\"word\": {\"type\": \"string\", \"pattern\": "
    "\"^[a-z]{2}$\"},"
    " \"round\": {\"$ref\": \"#/$defs/round\"}}, \"$ref\": \"#/$defs/round\"}";

static void add(llmprof_schemas *schemas, const char *name, const char *text) {
  llmprof_error err;
  assert_true(llmprof_schemas_add(schemas, name, text, strlen(text), &err));
}

static llmprof_error said;

static bool fits(const llmprof_schemas *schemas, const char *name,
                 const char *text) {
  llmprof_value *value = llmprof_json_parse(text, strlen(text), "value", &said);
  assert_non_null(value);
  bool ok = llmprof_schemas_check(schemas, name, NULL, value, &said);
  llmprof_value_free(value);
  return ok;
}

TEST(references) {
  size_t size;
  llmprof_schemas *schemas = llmprof_schemas_new();
  static const char good[] =
      "{\"name\": \"ab\", \"below\": [{\"name\": \"cd\", \"below\": []}]}";
  assert_null(llmprof_schemas_lacking(schemas, &size));
  assert_false(fits(schemas, "tree", good));
  assert_null(llmprof_schemas_get(schemas, "tree"));
  add(schemas, "tree", tree);
  assert_non_null(llmprof_schemas_get(schemas, "tree"));
  const char *lacking = llmprof_schemas_lacking(schemas, &size);
  assert_non_null(lacking);
  assert_int_equal(size, strlen("other"));
  assert_memory_equal(lacking, "other", size);
  assert_false(fits(schemas, "tree", good));
  add(schemas, "other", other);
  assert_null(llmprof_schemas_lacking(schemas, &size));
  assert_true(fits(schemas, "tree", good));
  assert_false(fits(schemas, "tree", "{\"name\": \"abc\"}"));
  assert_int_equal(said.code, LLMPROF_SYNTAX);
  assert_string_equal(said.message,
                      "$.name: \"abc\" does not match ^[a-z]{2}$");
  assert_false(fits(schemas, "tree", "{\"name\": \"ab\", \"below\": [{}]}"));
  assert_string_equal(said.message, "$.below[1]: no 'name'");
  add(schemas, "tree", "{}"); /* stays as it is */
  assert_false(fits(schemas, "tree", "1"));
  llmprof_schemas_free(schemas);
  llmprof_schemas_free(NULL);
}

/* What is not known does not fit. */
TEST(unknown) {
  static const char *const rules[] = {
      "1",
      "{\"oneOf\": []}",
      "{\"$ref\": \"#/$defs/x\"}",
      "{\"$ref\": \"#/x\"}",
      "{\"$ref\": \"x.json\"}",
      "{\"$ref\": 1}",
      "{\"type\": 1}",
      "{\"enum\": 1}",
      "{\"minimum\": \"1\"}",
      "{\"maximum\": null}",
      "{\"pattern\": \"a|b\"}",
      "{\"pattern\": 1}",
      "{\"minItems\": \"1\"}",
      "{\"maxItems\": []}",
      "{\"properties\": []}",
      "{\"dependentRequired\": []}",
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    llmprof_schemas *schemas = llmprof_schemas_new();
    add(schemas, "rule", rules[i]);
    assert_false(fits(schemas, "rule", "1"));
    assert_int_equal(said.code, LLMPROF_UNSUPPORTED);
    assert_false(llmprof_schemas_add(schemas, "none", "{", 1, &said));
    llmprof_schemas_free(schemas);
  }
  llmprof_schemas *schemas = llmprof_schemas_new();
  add(schemas, "other", other);
  assert_false(fits(schemas, "other", "1"));
  assert_string_equal(said.message, "the schema: a circle at '#/$defs/round'");
  assert_false(fits(schemas, "none", "1"));
  assert_int_equal(said.code, LLMPROF_UNSUPPORTED);
  add(schemas, "open", "{\"pattern\": \"[a\"}");
  assert_false(fits(schemas, "open", "\"a\""));
  assert_string_equal(said.message, "the schema: pattern '[a'");
  llmprof_schemas_free(schemas);
}

TEST(numbers) {
  llmprof_schemas *schemas = llmprof_schemas_new();
  add(schemas, "least", "{\"minimum\": 9007199254740993}");
  assert_true(fits(schemas, "least", "9007199254740993"));
  assert_false(fits(schemas, "least", "9007199254740992"));
  assert_true(fits(schemas, "least", "9007199254740996.0"));
  add(schemas, "most", "{\"maximum\": 0.5, \"type\": [\"number\", \"null\"]}");
  assert_true(fits(schemas, "most", "0.5"));
  assert_false(fits(schemas, "most", "1"));
  assert_true(fits(schemas, "most", "null"));
  add(schemas, "whole", "{\"type\": \"integer\"}");
  assert_true(fits(schemas, "whole", "-9.223372036854775808e18"));
  assert_false(fits(schemas, "whole", "9.223372036854775808e18"));
  llmprof_schemas_free(schemas);
}

static bool make(void *arg, llmprof_error *err) {
  llmprof_schemas *schemas = llmprof_schemas_new();
  if (!schemas) return llmprof_fail_nomem(err);
  bool ok = llmprof_schemas_add(schemas, "tree", tree, strlen(tree), err) &&
            llmprof_schemas_add(schemas, "other", other, strlen(other), err);
  llmprof_schemas_free(schemas);
  return ok;
}

TEST(allocations) {
  test_every_allocation(make, NULL);
}
