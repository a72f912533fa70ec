#!/usr/bin/env bash
# floor.sh FLOOR FILE...: does what was built here ask for nothing that the glibc of the
# packages lacks? Functions that it has under an older version are no matter: a build for
# that glibc takes those. What packaging/ has built itself is held to the floor as it is.
# shellcheck source=tests/e2e/common.sh
source "$(dirname -- "$0")/../e2e/common.sh"
floor=$1
shift

# Were in other libraries of glibc, or in an archive of it, before 2.34 and 2.33.
renamed=' __libc_start_main dlclose dlerror dlopen dlsym dladdr fstat fstatat lstat stat mknod
  pthread_create pthread_detach pthread_getspecific pthread_join pthread_key_create
  pthread_key_delete pthread_kill pthread_mutex_trylock pthread_once pthread_rwlock_rdlock
  pthread_rwlock_unlock pthread_rwlock_wrlock pthread_setspecific pthread_sigmask
  sem_destroy sem_init sem_post sem_timedwait sem_trywait
  sem_wait __pthread_register_cancel __pthread_unregister_cancel __pthread_unwind_next '
# Same functions with newer rounding, limits or spelling.
renamed+='exp exp2 log log2 pow fmod hypot __isoc23_strtol __isoc23_strtoll __isoc23_strtoul
  __isoc23_strtoull __isoc23_strtoimax __isoc23_sscanf '

# newer FILE: the symbols it wants that came after the floor, "VERSION NAME" a line
newer() {
  objdump -T "$1" | sed -nE 's/.*\*UND\*.*\(?GLIBC_([0-9.]+)\)? +(\S+)$/\1 \2/p' |
    awk -v floor="${floor#*.}" '{ split($1, part, "."); if (part[2] + 0 > floor) print }'
}

for file; do
  [[ -f $file ]] || continue
  found=$(objdump -T "$file" | grep -c 'GLIBC_') || fail "$file: no symbols of glibc were found"
  echo "$file: $found symbols of glibc"
  while read -r version name; do
    [[ ${renamed//$'\n'/ } == *" $name "* ]] || fail "$file wants $name of glibc $version"
  done < <(newer "$file")
done

for file in build/packaging/*/build/bin/llmprof build/packaging/*/build/lib/*.so; do
  [[ -f $file ]] || continue
  same "$file is for glibc $floor, but for" '' "$(newer "$file")"
  echo "$file: for glibc $floor"
done
