/* llmprof.text: widths, fitting text into columns, numbers for people.
 *
 *   print(text.truncate("void fill(Params)", 9))  --> void …ms)
 *   print(text.duration(1245000))                 --> 1.25 ms
 *   print(text.duration(1245000, { unit = "us" }))  --> 1245.00 µs
 */
#include "text/text.h"

#include <math.h>
#include <string.h>

#include "lua_buffer.h"
#include "text/format.h"

enum {
  MAX_COLUMNS = 1 << 20, /* padding must not eat the memory */
};

static size_t check_columns(lua_State *L, int arg) {
  lua_Integer columns = luaL_checkinteger(L, arg);
  luaL_argcheck(L, columns >= 0 && columns <= MAX_COLUMNS, arg,
                "columns must be 0 to 1048576");
  return (size_t)columns;
}

static int push_buffer(lua_State *L, llmprof_buffer *buf) {
  if (buf->failed) return llmprof_lua_raise_nomem(L);
  return llmprof_lua_text(L, true, buf, NULL);
}

/* text.width(s) -> columns */
static int text_width(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  lua_pushinteger(L, (lua_Integer)llmprof_text_width(text, size));
  return 1;
}

typedef void (*clean_function)(llmprof_buffer *out, const char *text,
                               size_t size);

/* Most texts are as they should be, and returned as they are. */
static int apply_clean(lua_State *L, clean_function function, bool keep_lines) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  if (llmprof_text_is_plain(text, size, keep_lines)) {
    lua_settop(L, 1);
    return 1;
  }
  llmprof_buffer *buf = llmprof_lua_buffer(L);
  function(buf, text, size);
  return push_buffer(L, buf);
}

/* text.clean(s) -> s as one line, without control characters and malformed
 * bytes */
static int text_clean(lua_State *L) {
  return apply_clean(L, llmprof_text_clean, false);
}

/* text.clean_lines(s) -> the same, but tabs and newlines stay */
static int text_clean_lines(lua_State *L) {
  return apply_clean(L, llmprof_text_clean_lines, true);
}

/* text.html(s) -> s as one line, as an element or a quoted attribute shows it
 */
static int text_html(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  llmprof_buffer *buf = llmprof_lua_buffer(L);
  llmprof_text_html(buf, text, size);
  return push_buffer(L, buf);
}

/* text.truncate(s, columns [, "middle" | "end"]) -> s, at most that wide */
static int text_truncate(lua_State *L) {
  static const char *const names[] = {"middle", "end", NULL};
  static const llmprof_ellipsis places[] = {LLMPROF_MIDDLE, LLMPROF_END};
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  size_t columns = check_columns(L, 2);
  llmprof_ellipsis place = places[luaL_checkoption(L, 3, "middle", names)];
  llmprof_buffer *buf = llmprof_lua_buffer(L);
  llmprof_text_truncate(buf, text, size, columns, place);
  return push_buffer(L, buf);
}

/* text.pad(s, columns [, "left" | "right"]) -> s, at least that wide */
static int text_pad(lua_State *L) {
  static const char *const names[] = {"left", "right", NULL};
  static const llmprof_align aligns[] = {LLMPROF_LEFT, LLMPROF_RIGHT};
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  size_t columns = check_columns(L, 2);
  llmprof_align align = aligns[luaL_checkoption(L, 3, "left", names)];
  llmprof_buffer *buf = llmprof_lua_buffer(L);
  llmprof_text_pad(buf, text, size, columns, align);
  return push_buffer(L, buf);
}

/* text.wrap(s, columns) -> list of lines */
static int text_wrap(lua_State *L) {
  size_t size, at = 0;
  const char *text = luaL_checklstring(L, 1, &size);
  size_t columns = check_columns(L, 2);
  lua_newtable(L);
  llmprof_slice line;
  for (lua_Integer i = 1; llmprof_text_wrap(text, size, columns, &at, &line);
       i++) {
    lua_pushlstring(L, line.bytes, line.size);
    lua_rawseti(L, -2, i);
  }
  return 1;
}

/* ---- numbers ---- */

static double check_number(lua_State *L, int arg) {
  lua_Number value = luaL_checknumber(L, arg);
  luaL_argcheck(L, isfinite(value), arg, "number is not finite");
  return value;
}

static int check_digits(lua_State *L, int arg, lua_Integer digits) {
  luaL_argcheck(L, digits >= 0 && digits <= LLMPROF_MAX_DIGITS, arg,
                "digits must be 0 to 20");
  return (int)digits;
}

static const llmprof_unit *
check_unit(lua_State *L, int arg, llmprof_quantity quantity, const char *name) {
  const llmprof_unit *unit = llmprof_unit_named(quantity, name);
  if (!unit)
    luaL_argerror(L, arg, lua_pushfstring(L, "no unit '%s' here", name));
  return unit;
}

/* The options at `arg`: unit, digits, separator, bare. */
static llmprof_format check_format(lua_State *L, int arg,
                                   llmprof_quantity quantity) {
  llmprof_format format = {
      .digits = LLMPROF_OWN_DIGITS,
      .separator = llmprof_lua_opt_string(L, arg, "separator", NULL),
      .bare = llmprof_lua_opt_bool(L, arg, "bare", false),
  };
  lua_Integer digits = llmprof_lua_opt_integer(L, arg, "digits", -1);
  if (digits != -1) format.digits = check_digits(L, arg, digits);
  const char *unit = llmprof_lua_opt_string(L, arg, "unit", NULL);
  if (unit) format.unit = check_unit(L, arg, quantity, unit);
  return format;
}

/* Push the number at argument 1, formatted; integers keep all their digits. */
static int push_number(lua_State *L, llmprof_quantity quantity,
                       const llmprof_format *format) {
  double value = check_number(L, 1);
  llmprof_buffer *buf = llmprof_lua_buffer(L);
  if (lua_isinteger(L, 1))
    llmprof_format_integer(buf, quantity, lua_tointeger(L, 1), format);
  else
    llmprof_format_number(buf, quantity, value, format);
  return push_buffer(L, buf);
}

/* text.number(value [, digits = 0 [, separator]]) -> "1234.50" */
static int text_number(lua_State *L) {
  llmprof_format format = {
      .digits = check_digits(L, 2, luaL_optinteger(L, 2, 0)),
      .separator = luaL_optstring(L, 3, NULL),
  };
  return push_number(L, LLMPROF_PLAIN, &format);
}

/* text.count(integer [, separator = ","]) -> "35,512" */
static int text_count(lua_State *L) {
  lua_pushinteger(L, luaL_checkinteger(L, 1)); /* 35512.0 is a count too */
  lua_replace(L, 1);
  llmprof_format format = {.separator = luaL_optstring(L, 2, ",")};
  return push_number(L, LLMPROF_PLAIN, &format);
}

/* text.percent(fraction [, digits = 1]) -> "35.2%" */
static int text_percent(lua_State *L) {
  llmprof_format format = {
      .digits = check_digits(L, 2, luaL_optinteger(L, 2, 1)),
  };
  return push_number(L, LLMPROF_PERCENT, &format);
}

/* text.duration(ns [, options]) -> "1.25 ms"
 * options: unit ("ns", "us", "ms" or "s"; else the one that fits), digits,
 * separator (between thousands), bare (boolean: without the unit). */
static int text_duration(lua_State *L) {
  llmprof_format format = check_format(L, 2, LLMPROF_DURATION);
  return push_number(L, LLMPROF_DURATION, &format);
}

/* True when the options ask for units by 1024, in words or by their unit. */
static bool opt_binary(lua_State *L, int arg) {
  const char *unit = llmprof_lua_opt_string(L, arg, "unit", "");
  return llmprof_lua_opt_bool(L, arg, "binary", strchr(unit, 'i') != NULL);
}

/* text.bytes(count [, options]) -> "150.11 GB"
 * options: as duration's, with unit "B", "kB" ... "EB" or "KiB" ... "EiB",
 * and binary (boolean: units by 1024). */
static int text_bytes(lua_State *L) {
  llmprof_quantity quantity = opt_binary(L, 2) ? LLMPROF_BINARY : LLMPROF_BYTES;
  llmprof_format format = check_format(L, 2, quantity);
  return push_number(L, quantity, &format);
}

/* text.rate(value, suffix [, options]) -> "789.12 TFLOP/s"
 * options: as duration's, with unit one of "" "k" "M" "G" "T" "P" "E". */
static int text_rate(lua_State *L) {
  const char *suffix = luaL_checkstring(L, 2);
  llmprof_format format = check_format(L, 3, LLMPROF_SI);
  format.suffix = suffix;
  return push_number(L, LLMPROF_SI, &format);
}

/* text.unit(quantity, value [, digits]) -> the unit that fits: give a column
 * the unit of its largest value. quantity: "duration", "bytes", "binary" or
 * "rate". */
static int text_unit(lua_State *L) {
  static const char *const names[] = {"duration", "bytes", "binary", "rate",
                                      NULL};
  static const llmprof_quantity quantities[] = {LLMPROF_DURATION, LLMPROF_BYTES,
                                                LLMPROF_BINARY, LLMPROF_SI};
  llmprof_quantity quantity = quantities[luaL_checkoption(L, 1, NULL, names)];
  double value = check_number(L, 2);
  int digits = LLMPROF_OWN_DIGITS;
  if (!lua_isnoneornil(L, 3))
    digits = check_digits(L, 3, luaL_checkinteger(L, 3));
  lua_pushstring(L, llmprof_unit_for(quantity, value, digits)->name);
  return 1;
}

static const luaL_Reg functions[] = {
    {"width", text_width},
    {"clean", text_clean},
    {"clean_lines", text_clean_lines},
    {"html", text_html},
    {"truncate", text_truncate},
    {"pad", text_pad},
    {"wrap", text_wrap},
    {"number", text_number},
    {"count", text_count},
    {"percent", text_percent},
    {"duration", text_duration},
    {"bytes", text_bytes},
    {"rate", text_rate},
    {"unit", text_unit},
    {NULL, NULL},
};

LLMPROF_LUA_FUNCTIONS(text, functions)
