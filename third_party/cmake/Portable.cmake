# cmake -D PROGRAM=FILE -D FOLDER=DIR -D NOTICES=SUBDIR -D OBJDUMP=FILE
#       [-D EMBEDDED=FILES] -P Portable.cmake
# Puts into FOLDER the program, in lib/ the shared libraries it needs, and in
# NOTICES their licences and those of EMBEDDED, files that are in the program.
# glibc stays out: it belongs to the machine.
cmake_minimum_required(VERSION 3.25)

set(glibc "^(ld-linux.*|lib(anl|c|dl|m|mvec|nsl|pthread|resolv|rt|util))\\.so")
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${PROGRAM}
  RESOLVED_DEPENDENCIES_VAR libraries
  PRE_EXCLUDE_REGEXES ${glibc})

# full_texts(<copyright>): copy the licences that it names without their text.
function(full_texts copyright)
  file(STRINGS ${copyright} names REGEX "^License: ")
  list(TRANSFORM names REPLACE "^License: ([A-Za-z0-9.-]+).*" "\\1")
  foreach(name IN LISTS names)
    if(EXISTS /usr/share/common-licenses/${name})
      file(REAL_PATH /usr/share/common-licenses/${name} text)
      configure_file(${text} ${FOLDER}/${NOTICES}/${name} COPYONLY)
    endif()
  endforeach()
endfunction()

# notice(<file>): copy the copyright file of the package it came from. dpkg
# knows files by the name they were packed under, before /lib became /usr/lib.
function(notice library)
  string(REGEX REPLACE "^/usr/" "/" unmerged ${library})
  foreach(path ${library} ${unmerged} /usr${unmerged})
    execute_process(COMMAND dpkg-query --search ${path}
      OUTPUT_VARIABLE owner ERROR_QUIET RESULT_VARIABLE status)
    if(status EQUAL 0)
      string(REGEX REPLACE "[:,].*" "" package ${owner})
      set(copyright /usr/share/doc/${package}/copyright)
      configure_file(${copyright} ${FOLDER}/${NOTICES}/${package}.txt COPYONLY)
      full_texts(${copyright})
      return()
    endif()
  endforeach()
  message(WARNING "no package owns ${library}: add its licence to the folder")
endfunction()

# Versions of glibc that a file asks for.
function(glibc_versions file variable)
  execute_process(COMMAND ${OBJDUMP} -p ${file}
    OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "GLIBC_[0-9.]+" versions "${headers}")
  list(TRANSFORM versions REPLACE GLIBC_ "")
  set(${variable} ${versions} PARENT_SCOPE)
endfunction()

file(COPY ${PROGRAM} DESTINATION ${FOLDER})
set(needed "")
foreach(library IN LISTS libraries)
  cmake_path(GET library FILENAME name)
  file(REAL_PATH ${library} file)
  configure_file(${file} ${FOLDER}/lib/${name} COPYONLY)
  notice(${library})
endforeach()
foreach(file IN LISTS EMBEDDED)
  notice(${file})
endforeach()
foreach(file ${PROGRAM} ${libraries})
  glibc_versions(${file} versions)
  list(APPEND needed ${versions})
endforeach()
list(SORT needed COMPARE NATURAL ORDER DESCENDING)
list(GET needed 0 newest)
message(STATUS "${FOLDER}: for glibc ${newest} or newer")
