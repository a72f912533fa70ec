# LibEdit::LibEdit. Where it is an archive, with what it looks terminals up in.
find_path(LibEdit_INCLUDE_DIR editline/readline.h)
find_library(LibEdit_LIBRARY edit)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibEdit
  REQUIRED_VARS LibEdit_LIBRARY LibEdit_INCLUDE_DIR)
if(LibEdit_FOUND AND NOT TARGET LibEdit::LibEdit)
  add_library(LibEdit::LibEdit UNKNOWN IMPORTED)
  set_target_properties(LibEdit::LibEdit PROPERTIES
    IMPORTED_LOCATION ${LibEdit_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${LibEdit_INCLUDE_DIR})
  if(LibEdit_LIBRARY MATCHES "\\.a$")
    find_library(LibEdit_TINFO_LIBRARY tinfo REQUIRED)
    set_property(TARGET LibEdit::LibEdit PROPERTY
      INTERFACE_LINK_LIBRARIES ${LibEdit_TINFO_LIBRARY})
    mark_as_advanced(LibEdit_TINFO_LIBRARY)
  endif()
endif()
mark_as_advanced(LibEdit_INCLUDE_DIR LibEdit_LIBRARY)
