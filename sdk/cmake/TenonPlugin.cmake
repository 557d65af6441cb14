# tenon_add_plugin(ID SOURCES ... MANIFEST FILE [LIBRARIES ...]): builds ID.so, its manifest ID.ini and its hash, and
# installs both. tenon_add_notes(ID MANIFEST FILE): a manifest of kind notes, which has no library.
#
# FILE is the manifest as its author writes it: without the lines library and sha256, which are added here after
# each link, and once more after installing, which may strip the file. Works inside Tenon's own tree and, through
# find_package(Tenon), outside of it. Variables: TENON_PLUGIN_OUTPUT, the folder to build into (default: the
# current binary folder); TENON_PLUGIN_INSTALL, the folder to install to (default: lib/tenon/plugins).
#
# The plugins of Tenon's own tree are also listed in known.sha256 beside them: these alone need no trial in a
# child process before they are opened for the first time.
set(TENON_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR})
set(TENON_OWN_PLUGINS "${tenon_BINARY_DIR}/lib/tenon/plugins") # "/lib/..." outside of the tree: no such output

# Sets OUTPUT, INSTALL ("" for plugins of tests) and OWN in the caller.
function(tenon_plugin_places)
  set(output ${TENON_PLUGIN_OUTPUT})
  if(NOT output)
    set(output ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  set(install ${TENON_PLUGIN_INSTALL})
  if(NOT install)
    include(GNUInstallDirs)
    set(install ${CMAKE_INSTALL_LIBDIR}/tenon/plugins)
  endif()
  set(own OFF)
  if(tenon_BINARY_DIR AND output STREQUAL TENON_OWN_PLUGINS)
    set(own ON)
  elseif(tenon_BINARY_DIR)
    set(install "")
  endif()
  set(OUTPUT ${output} PARENT_SCOPE)
  set(INSTALL ${install} PARENT_SCOPE)
  set(OWN ${own} PARENT_SCOPE)
endfunction()

function(tenon_add_plugin id)
  cmake_parse_arguments(P "" "MANIFEST" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT P_SOURCES OR NOT P_MANIFEST OR P_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_plugin(${id}): needs SOURCES and MANIFEST, and takes LIBRARIES")
  endif()
  tenon_plugin_places()
  cmake_path(ABSOLUTE_PATH P_MANIFEST BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  add_library(${id} MODULE ${P_SOURCES})
  target_link_libraries(${id} PRIVATE tenon_sdk ${P_LIBRARIES} m)
  target_compile_options(${id} PRIVATE -ffp-contract=off)
  set_target_properties(${id} PROPERTIES PREFIX "" OUTPUT_NAME ${id} C_STANDARD 11 C_VISIBILITY_PRESET hidden
                        SKIP_BUILD_RPATH ON INSTALL_RPATH "" LIBRARY_OUTPUT_DIRECTORY ${OUTPUT}
                        LINK_DEPENDS "${P_MANIFEST};${TENON_CMAKE_DIR}/plugin.map;${TENON_CMAKE_DIR}/manifest.cmake")
  target_link_options(${id} PRIVATE -Wl,-z,nodelete -Wl,-Bsymbolic-functions
                      -Wl,--version-script=${TENON_CMAKE_DIR}/plugin.map)
  if(NOT TENON_SANITIZE)
    target_link_options(${id} PRIVATE -Wl,-z,defs)
  endif()
  set(known)
  set(written "\"\${folder}/${id}.ini\"") # by manifest.cmake when it installs
  if(OWN)
    set(known -DKNOWN=known.sha256)
    string(APPEND written " \"\${folder}/known.sha256\"")
  endif()
  add_custom_command(TARGET ${id} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -DMANIFEST=${P_MANIFEST} -DLIBRARY=$<TARGET_FILE:${id}> ${known}
            -DLOCK=${CMAKE_BINARY_DIR}/known.lock -P ${TENON_CMAKE_DIR}/manifest.cmake)
  if(INSTALL)
    install(TARGETS ${id} LIBRARY DESTINATION ${INSTALL})
    install(CODE "
      set(folder \"${INSTALL}\")
      cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\" NORMALIZE)
      execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DMANIFEST=${P_MANIFEST}\" ${known}
        \"-DLIBRARY=\$ENV{DESTDIR}\${folder}/${id}.so\" -P \"${TENON_CMAKE_DIR}/manifest.cmake\"
        COMMAND_ERROR_IS_FATAL ANY)
      list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${written})
      list(REMOVE_DUPLICATES CMAKE_INSTALL_MANIFEST_FILES)")
  endif()
  set_property(GLOBAL APPEND PROPERTY TENON_PLUGINS ${id})
endfunction()

function(tenon_add_notes id)
  cmake_parse_arguments(P "" "MANIFEST" "" ${ARGN})
  if(NOT P_MANIFEST OR P_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_notes(${id}): needs MANIFEST")
  endif()
  tenon_plugin_places()
  configure_file(${P_MANIFEST} ${OUTPUT}/${id}.ini COPYONLY)
  if(INSTALL)
    install(FILES ${P_MANIFEST} DESTINATION ${INSTALL} RENAME ${id}.ini)
  endif()
endfunction()
