# llmprof_embed(<target> <file>...): build files of the source tree into
# <target> as the table llmprof_resources, sorted by path. The assembler reads
# them (.incbin), so size costs nothing and any byte survives.
function(llmprof_embed target)
  list(SORT ARGN)
  set(blobs "")
  set(table "")
  set(index 0)
  foreach(file IN LISTS ARGN)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
    string(APPEND blobs
      "name_${index}: .asciz \"${path}\"\n"
      "blob_${index}: .incbin \"${file}\"\n"
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
    OBJECT_DEPENDS "${ARGN}")
  target_sources(${target} PRIVATE ${source})
endfunction()
