# Run by cpack before it packs: what a package has beside what is installed.
set(folder ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
if(CPACK_GENERATOR STREQUAL "DEB")
  string(APPEND folder /usr)
endif()
set(docs ${folder}/share/doc/llmprof)
execute_process(
  COMMAND python3 ${CPACK_LLMPROF_PACKAGING}/notices.py
    ${CPACK_LLMPROF_BUILD} ${docs} ${CPACK_LLMPROF_SOURCES}
  COMMAND_ERROR_IS_FATAL ANY)
if(CPACK_GENERATOR STREQUAL "DEB")
  execute_process(
    COMMAND python3 ${CPACK_LLMPROF_PACKAGING}/debian.py ${docs}
      ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}
      ${CPACK_PACKAGE_CONTACT}
    COMMAND_ERROR_IS_FATAL ANY)
endif()
