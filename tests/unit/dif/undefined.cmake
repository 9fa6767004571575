# Fails if one of the engine's objects has an undefined symbol that is not dt_*.
foreach(object ${OBJECTS})
  execute_process(COMMAND ${NM} -u ${object} OUTPUT_VARIABLE symbols
                  RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "nm ${object}: ${failed}")
  endif()
  string(REGEX REPLACE "[ \t]*U (dt_[a-z0-9_]+)\n" "" others "${symbols}")
  if(NOT others STREQUAL "")
    message(FATAL_ERROR "${object} needs ${others}")
  endif()
endforeach()
