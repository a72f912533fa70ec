/* llmprof.fs: files and folders. Every function returns nil, message, code on
 * failure; those without a result of their own return true.
 *
 *   local folder = assert(fs.temp_dir "example-")
 *   assert(fs.write(folder .. "/a.txt", "text"))
 *   print(fs.read(folder .. "/a.txt"), fs.list(folder)[1])  --> text  a.txt
 *   print(select(3, fs.stat(folder .. "/b.txt")))           --> notfound
 *   assert(fs.remove_tree(folder))
 */
#include "os/fs.h"

#include <string.h>

#include "llmprof_lua.h"
#include "lua_buffer.h"

#define NAMES "llmprof.fs.names"
#define LOCK  "llmprof.fs.lock"

/* A function that does what another one says of its kind. */
#define APPLY(name, kind, function) \
  static int name(lua_State *L) {   \
    return kind(L, function);       \
  }

/* ---- one path in, true out ---- */

typedef bool (*path_function)(const char *path, llmprof_error *err);

static int apply(lua_State *L, path_function function) {
  const char *path = llmprof_lua_check_path(L, 1);
  llmprof_error err;
  return llmprof_lua_result(L, function(path, &err), &err);
}

/* fs.mkdir(path) */
APPLY(fs_mkdir, apply, llmprof_fs_mkdir)

/* fs.mkdirs(path): with missing parents; content with a folder that exists */
APPLY(fs_mkdirs, apply, llmprof_fs_mkdirs)

/* fs.remove(path): a file, a link or an empty folder */
APPLY(fs_remove, apply, llmprof_fs_remove)

/* fs.remove_tree(path): with everything below; follows no link, and refuses
 * "", "/", "." and any path with a ".." */
APPLY(fs_remove_tree, apply, llmprof_fs_remove_tree)

/* fs.settle(folder): everything on its file system is on the disk */
APPLY(fs_settle, apply, llmprof_fs_settle)

/* ---- two paths in, true out ---- */

typedef bool (*pair_function)(const char *a, const char *b, llmprof_error *err);

static int apply_pair(lua_State *L, pair_function function) {
  const char *a = llmprof_lua_check_path(L, 1);
  const char *b = llmprof_lua_check_path(L, 2);
  llmprof_error err;
  return llmprof_lua_result(L, function(a, b, &err), &err);
}

/* fs.copy(from, to): atomic, with permission bits */
APPLY(fs_copy, apply_pair, llmprof_fs_copy)

/* fs.copy_soon(from, to): the same, settled by fs.settle */
APPLY(fs_copy_soon, apply_pair, llmprof_fs_copy_soon)

/* fs.rename(from, to): takes the place of a file that is there */
APPLY(fs_rename, apply_pair, llmprof_fs_rename)

/* fs.symlink(target, path) */
APPLY(fs_symlink, apply_pair, llmprof_fs_symlink)

/* ---- locks ---- */

LLMPROF_LUA_CLOSE(lock_close, LOCK, llmprof_lock_free)

/* fs.lock(path [, { wait = true }]) -> a lock on a folder, or on a file that is
 * made for it: held until its close(), or the end of the process; code "busy"
 * when it is held already */
static int fs_lock(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  bool wait = llmprof_lua_opt_bool(L, 2, "wait", false);
  void **box = llmprof_lua_box(L, LOCK, 0);
  llmprof_error err;
  *box = llmprof_lock_take(path, wait, &err);
  return *box ? 1 : llmprof_lua_fail(L, &err);
}

/* fs.private_dir(parent) -> path of a new folder that only its user can enter,
 * and its lock: fs.sweep removes the folder when nobody holds that */
static int fs_private_dir(lua_State *L) {
  const char *parent = llmprof_lua_check_path(L, 1);
  llmprof_buffer *path = llmprof_lua_buffer(L);
  void **box = llmprof_lua_box(L, LOCK, 0);
  llmprof_lock *lock;
  llmprof_error err;
  bool ok = llmprof_fs_private_dir(parent, path, &lock, &err);
  *box = lock;
  if (!ok) return llmprof_lua_fail(L, &err);
  llmprof_lua_text(L, true, path, &err);
  lua_insert(L, -2);
  return 2;
}

/* fs.sweep(folder) -> how many files and folders it removed that processes
 * which are gone left there half-written */
static int fs_sweep(lua_State *L) {
  const char *folder = llmprof_lua_check_path(L, 1);
  size_t count;
  llmprof_error err;
  if (!llmprof_fs_sweep(folder, &count, &err)) return llmprof_lua_fail(L, &err);
  lua_pushinteger(L, (lua_Integer)count);
  return 1;
}

/* ---- a string out ---- */

typedef bool (*text_function)(const char *path, llmprof_buffer *text,
                              llmprof_error *err);

static int apply_text(lua_State *L, text_function function) {
  const char *path = llmprof_lua_check_path(L, 1);
  llmprof_buffer *text = llmprof_lua_buffer(L);
  llmprof_error err;
  return llmprof_lua_text(L, function(path, text, &err), text, &err);
}

/* fs.readlink(path) -> what a symbolic link says */
APPLY(fs_readlink, apply_text, llmprof_fs_readlink)

/* fs.realpath(path) -> absolute path without links */
APPLY(fs_realpath, apply_text, llmprof_fs_realpath)

/* fs.beneath(folder, name) -> path of the file, which may not exist; code
 * "denied" when a part of the name is a symbolic link or ".." */
static int fs_beneath(lua_State *L) {
  const char *folder = llmprof_lua_check_path(L, 1);
  const char *name = llmprof_lua_check_path(L, 2);
  llmprof_buffer *path = llmprof_lua_buffer(L);
  llmprof_error err;
  bool ok = llmprof_fs_beneath(folder, name, path, &err);
  return llmprof_lua_text(L, ok, path, &err);
}

/* fs.temp_dir(prefix) -> path of a new private folder */
static int fs_temp_dir(lua_State *L) {
  const char *prefix = llmprof_lua_check_path(L, 1);
  luaL_argcheck(L, !strchr(prefix, '/'), 1, "prefix with a \"/\"");
  return apply_text(L, llmprof_fs_temp_dir);
}

/* fs.cwd() -> the working directory */
static int fs_cwd(lua_State *L) {
  llmprof_buffer *path = llmprof_lua_buffer(L);
  llmprof_error err;
  return llmprof_lua_text(L, llmprof_fs_cwd(path, &err), path, &err);
}

/* fs.read(path [, limit]) -> contents; code "limit" when there are more than
 * `limit` bytes */
static int fs_read(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  lua_Integer limit = luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, lua_isnoneornil(L, 2) || limit > 0, 2,
                "positive limit expected");
  llmprof_buffer *bytes = llmprof_lua_buffer(L);
  llmprof_error err;
  bool ok = llmprof_fs_read(path, (size_t)limit, bytes, &err);
  return llmprof_lua_text(L, ok, bytes, &err);
}

typedef bool (*write_function)(const char *path, const void *bytes, size_t size,
                               llmprof_error *err);

static int apply_write(lua_State *L, write_function function) {
  const char *path = llmprof_lua_check_path(L, 1);
  size_t size;
  const char *bytes = luaL_checklstring(L, 2, &size);
  llmprof_error err;
  return llmprof_lua_result(L, function(path, bytes, size, &err), &err);
}

/* fs.write(path, bytes): atomic */
APPLY(fs_write, apply_write, llmprof_fs_write)

/* fs.write_soon(path, bytes): the same, settled by fs.settle */
APPLY(fs_write_soon, apply_write, llmprof_fs_write_soon)

/* fs.chmod(path, mode): permission bits, as stat gives them */
static int fs_chmod(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  lua_Integer mode = luaL_checkinteger(L, 2);
  luaL_argcheck(L, mode >= 0 && mode <= 07777, 2, "0 to 4095 expected");
  llmprof_error err;
  bool ok = llmprof_fs_chmod(path, (uint32_t)mode, &err);
  return llmprof_lua_result(L, ok, &err);
}

/* ---- looking ---- */

typedef bool (*look_function)(const char *path, llmprof_fs_info *info,
                              llmprof_error *err);

static int apply_look(lua_State *L, look_function function) {
  static const char *const types[] = {
      [LLMPROF_FS_FILE] = "file",
      [LLMPROF_FS_DIRECTORY] = "directory",
      [LLMPROF_FS_LINK] = "link",
      [LLMPROF_FS_OTHER] = "other",
  };
  llmprof_fs_info info;
  llmprof_error err;
  if (!function(llmprof_lua_check_path(L, 1), &info, &err))
    return llmprof_lua_fail(L, &err);
  lua_createtable(L, 0, 4);
  llmprof_lua_set_string(L, "type", types[info.type]);
  llmprof_lua_set_integer(L, "size", (int64_t)info.size);
  llmprof_lua_set_integer(L, "mtime_ns", info.mtime_ns);
  llmprof_lua_set_integer(L, "mode", info.mode);
  return 1;
}

/* fs.stat(path) -> { type, size, mtime_ns, mode }; type is "file",
 * "directory", "link" (lstat only) or "other" */
APPLY(fs_stat, apply_look, llmprof_fs_stat)

/* fs.lstat(path) -> as fs.stat, of a link itself */
APPLY(fs_lstat, apply_look, llmprof_fs_lstat)

static int names_close(lua_State *L) {
  llmprof_fs_names_free(luaL_checkudata(L, 1, NAMES));
  return 0;
}

/* fs.list(path) -> sorted names, without "." and ".." */
static int fs_list(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  llmprof_fs_names *names = lua_newuserdatauv(L, sizeof *names, 0);
  *names = (llmprof_fs_names){0};
  luaL_setmetatable(L, NAMES);
  llmprof_error err;
  if (!llmprof_fs_list(path, names, &err)) return llmprof_lua_fail(L, &err);
  lua_createtable(L, (int)names->count, 0);
  for (size_t i = 0; i < names->count; i++) {
    lua_pushstring(L, names->items[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  llmprof_fs_names_free(names);
  return 1;
}

/* fs.free_space(path) -> bytes */
static int fs_free_space(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  uint64_t bytes;
  llmprof_error err;
  if (!llmprof_fs_free_space(path, &bytes, &err))
    return llmprof_lua_fail(L, &err);
  lua_pushinteger(L, (lua_Integer)bytes);
  return 1;
}

/* fs.access(path [, mode]): mode of "r", "w", "x"; none: does it exist? */
static int fs_access(lua_State *L) {
  const char *path = llmprof_lua_check_path(L, 1);
  const char *mode = luaL_optstring(L, 2, "");
  luaL_argcheck(L, mode[strspn(mode, "rwx")] == '\0', 2,
                "only r, w and x expected");
  llmprof_error err;
  return llmprof_lua_result(L, llmprof_fs_access(path, mode, &err), &err);
}

static const luaL_Reg functions[] = {
    {"access", fs_access},
    {"beneath", fs_beneath},
    {"chmod", fs_chmod},
    {"copy", fs_copy},
    {"copy_soon", fs_copy_soon},
    {"cwd", fs_cwd},
    {"free_space", fs_free_space},
    {"list", fs_list},
    {"lock", fs_lock},
    {"lstat", fs_lstat},
    {"mkdir", fs_mkdir},
    {"mkdirs", fs_mkdirs},
    {"private_dir", fs_private_dir},
    {"read", fs_read},
    {"readlink", fs_readlink},
    {"realpath", fs_realpath},
    {"remove", fs_remove},
    {"remove_tree", fs_remove_tree},
    {"rename", fs_rename},
    {"settle", fs_settle},
    {"stat", fs_stat},
    {"sweep", fs_sweep},
    {"symlink", fs_symlink},
    {"temp_dir", fs_temp_dir},
    {"write", fs_write},
    {"write_soon", fs_write_soon},
    {NULL, NULL},
};

LLMPROF_LUA_MODULE(fs) {
  static const luaL_Reg lock_methods[] = {{"close", lock_close}, {NULL, NULL}};
  llmprof_lua_class(L, NAMES, NULL, names_close);
  llmprof_lua_class(L, LOCK, lock_methods, lock_close);
  luaL_newlib(L, functions);
  return 1;
}
