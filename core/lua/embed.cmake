# llmprof_compile_lua(<variable> <file>...): have Lua files compiled while
# building, which saves parsing them at every start, and set the variable to
# the words for llmprof_embed. Where what is built cannot run, they stay text
# unless LLMPROF_BUILD_TOOLS has an llmprof_compile of the same Lua for a machine
# with the same sizes of integers.
set(LLMPROF_BUILD_TOOLS "" CACHE PATH
  "Folder of llmprof_compile and llmprof_pack_capture that run here, when cross-compiling")

# llmprof_build_tool(<name> <source> <target>...): what runs while building, of a C file and
# libraries; no target where there is none that runs here. ThreadSanitizer has nothing to find
# in what has one thread, and takes four times as long.
function(llmprof_build_tool name source)
  if(LLMPROF_BUILD_TOOLS)
    add_executable(${name} IMPORTED)
    set_target_properties(${name} PROPERTIES
      IMPORTED_LOCATION ${LLMPROF_BUILD_TOOLS}/${name})
  elseif(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    add_executable(${name} ${source})
    target_include_directories(${name} SYSTEM PRIVATE ${LUA_INCLUDE_DIR})
    target_link_libraries(${name} PRIVATE ${ARGN})
    if(LLMPROF_SANITIZE STREQUAL "thread")
      target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    else()
      target_link_libraries(${name} PRIVATE llmprof_flags)
    endif()
  endif()
endfunction()

function(llmprof_compile_lua variable)
  llmprof_build_tool(llmprof_compile compile.c ${LUA_LIBRARIES})
  if(NOT TARGET llmprof_compile)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/compiled)
  file(MAKE_DIRECTORY ${folder})
  set(words "")
  set(made "")
  set(lines "")
  foreach(file IN LISTS ARGN)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
    string(REPLACE "/" "." name ${path})
    list(APPEND words AS ${path} ${folder}/${name}c)
    list(APPEND made ${folder}/${name}c)
    string(APPEND lines "${file}\t${path}\t${folder}/${name}c\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/list CONTENT "${lines}" @ONLY)
  add_custom_command(OUTPUT ${made}
    COMMAND llmprof_compile ${folder}/list
    DEPENDS llmprof_compile ${folder}/list ${ARGN}
    COMMENT "Compiling Lua")
  set(${variable} ${words} PARENT_SCOPE)
endfunction()

# llmprof_pack_captures(<variable> <folder>): have the recorded captures in a folder packed,
# and set the variable to the words for llmprof_embed.
function(llmprof_pack_captures variable folder)
  llmprof_build_tool(llmprof_pack_capture pack_capture.c SQLite::SQLite3 ZLIB::ZLIB)
  set(words "")
  file(GLOB captures CONFIGURE_DEPENDS ${folder}/*)
  if(NOT TARGET llmprof_pack_capture)
    set(captures "")
  endif()
  foreach(capture IN LISTS captures)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${capture}/*)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${capture})
    cmake_path(GET capture FILENAME name)
    set(packed ${CMAKE_CURRENT_BINARY_DIR}/compiled/${name}.packed)
    add_custom_command(OUTPUT ${packed}
      COMMAND llmprof_pack_capture ${capture} ${packed}
      DEPENDS llmprof_pack_capture ${files}
      COMMENT "Packing ${path}")
    list(APPEND words AS ${path}.packed ${packed})
  endforeach()
  set(${variable} ${words} PARENT_SCOPE)
endfunction()

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
