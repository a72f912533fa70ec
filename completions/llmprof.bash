# bash completion for llmprof, which knows itself what may come next; files are bash's (default).
# shellcheck shell=bash

_llmprof() {
  local line=${COMP_LINE:0:COMP_POINT} words reply head
  # readline cuts words at = and :, llmprof does not
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=("")
  local typed=${words[-1]} program=${words[0]/#\~/$HOME}
  head=${typed%"${typed##*[=:]}"}
  [[ $COMP_WORDBREAKS == *=* ]] || head=
  COMPREPLY=()
  while IFS=$'\t' read -r reply _; do
    reply=${reply#"$head"}
    # a name of a file or a run is a word, whatever is in it
    [[ $reply == "${reply//[^[:alnum:]_.,:=@%+\/~\[\]-]/}" ]] || printf -v reply %q "$reply"
    COMPREPLY+=("$reply")
  done < <("$program" complete -- "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then
    compopt -o nospace 2>/dev/null # outside of completion: a test
  fi
}

complete -o default -F _llmprof llmprof
