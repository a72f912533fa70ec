# llmprof_embed(<target> <file>... [AS <path> <file>]...): build files into
# <target> as the table llmprof_resources, sorted by path: that in the source
# tree, or the one that follows AS. The assembler reads them (.incbin), so size
# costs nothing and any byte survives.
function(llmprof_embed target)
  set(paths "")
  set(files "")
  while(ARGN)
    list(POP_FRONT ARGN file)
    if(file STREQUAL "AS")
      list(POP_FRONT ARGN path file)
    else()
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
    endif()
    list(APPEND paths ${path})
    list(APPEND files ${file})
    set(file_of_${path} ${file})
  endwhile()
  list(SORT paths)
  set(blobs "")
  set(table "")
  set(index 0)
  foreach(path IN LISTS paths)
    string(APPEND blobs
      "name_${index}: .asciz \"${path}\"\n"
      "blob_${index}: .incbin \"${file_of_${path}}\"\n"
      "blob_${index}_end: .byte 0\n")
    string(APPEND table
      " .quad name_${index}, blob_${index}, blob_${index}_end\n")
    math(EXPR index "${index} + 1")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}_resources.s)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
" .section .rodata
${blobs}
 .balign 8
 .globl llmprof_resource_count
llmprof_resource_count: .quad ${index}
 .section .data.rel.ro,\"aw\"
 .balign 8
 .globl llmprof_resources
llmprof_resources:
${table}
 .section .note.GNU-stack,\"\",%progbits
")
  # Clang warns of options of the C files that say nothing to its assembler.
  set_source_files_properties(${source} PROPERTIES
    LANGUAGE ASM
    COMPILE_OPTIONS
      "$<$<C_COMPILER_ID:Clang>:-Wno-unused-command-line-argument>"
    OBJECT_DEPENDS "${files}")
  target_sources(${target} PRIVATE ${source})
endfunction()
