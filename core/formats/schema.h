/* Whether a document fits a JSON Schema, of the part of draft 2020-12 that the
 * schemas of docs/ use, and where it does not. */
#ifndef LLMPROF_SCHEMA_H
#define LLMPROF_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/value.h"
#include "llmprof/error.h"

/* Schemas by name, which may refer to each other as name.schema.json. */
typedef struct llmprof_schemas llmprof_schemas;

llmprof_schemas *llmprof_schemas_new(void); /* NULL when out of memory */
void llmprof_schemas_free(llmprof_schemas *schemas); /* NULL is fine */

/* One more, of JSON text; a name that is there already is not replaced. */
bool llmprof_schemas_add(llmprof_schemas *schemas, const char *name,
                         const char *text, size_t size, llmprof_error *err);

/* The name of a schema that one of them refers to and that is not there, with
 * its size, which lives as long as they; NULL: none. */
const char *llmprof_schemas_lacking(const llmprof_schemas *schemas,
                                    size_t *size);

/* A schema as it was read, borrowed; NULL when it is not there. */
const llmprof_value *llmprof_schemas_get(const llmprof_schemas *schemas,
                                         const char *name);

/* Does the value fit the schema of that name, or a definition of it? False with
 * LLMPROF_SYNTAX where it does not, and what is wrong first:
 * "$.stages[1].name: string expected, got 1". LLMPROF_UNSUPPORTED is of the
 * schema: it is not there, or has what is not known here. */
bool llmprof_schemas_check(const llmprof_schemas *schemas, const char *name,
                           const char *definition, /* NULL: all of it */
                           const llmprof_value *value, llmprof_error *err);

#endif
