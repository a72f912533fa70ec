# fish completion for llmprof, which knows itself what may come next; files are fish's.

function __llmprof_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete -- $words[2..-1] 2>/dev/null
end

complete -c llmprof -a '(__llmprof_complete)'
