# Fails if the runtime uses vector or x87 registers outside dt_flop(), except in moves to general registers. Also fails
# if the image has a relocation or a writable part.
foreach(object ${OBJECTS})
  if(object MATCHES "\\.o$")
    execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${object}
                    OUTPUT_VARIABLE text RESULT_VARIABLE failed)
    string(REGEX REPLACE "<dt_flop>:\n([^\n]+\n)*" "" text "${text}")
    string(REGEX REPLACE "[^\n]*movq +%xmm[0-9]+,%r[a-z0-9]+\n" "" text "${text}")
    string(REGEX MATCH "[^\n]*%([xyzt]?mm|st|k[0-7]|bnd)[^\n]*" found "${text}")
    if(failed OR NOT text MATCHES "Disassembly" OR found)
      message(FATAL_ERROR "${object}: ${failed} ${found}")
    endif()
  endif()
endforeach()
execute_process(COMMAND ${READELF} -rlW ${IMAGE} OUTPUT_VARIABLE parts
                RESULT_VARIABLE failed)
string(REGEX MATCHALL "LOAD +0x[^\n]*" loads "${parts}")
list(LENGTH loads n_loads)
if(failed OR NOT parts MATCHES "There are no relocations" OR NOT n_loads EQUAL 1
   OR NOT loads MATCHES " R E ")
  message(FATAL_ERROR "${IMAGE}: ${parts}")
endif()
