# The part of dtrace/sdt.h that the headers of `dtrace -h` have in them, as a string of C++:
#   cmake -DHEADER=sdt.h -DOUT=sdt_note.inc -P sdt_note.cmake
file(READ ${HEADER} text)
set(before "/* From here also in each header that dtrace -h makes. */\n")
string(FIND "${text}" "${before}" begin)
string(FIND "${text}" "/* To here. */\n" end)
if(begin EQUAL -1 OR end LESS begin)
  message(FATAL_ERROR "${HEADER} does not say what each header of dtrace -h has")
endif()
string(LENGTH "${before}" length)
math(EXPR begin "${begin} + ${length}")
math(EXPR length "${end} - ${begin}")
string(SUBSTRING "${text}" ${begin} ${length} text)
file(WRITE ${OUT} "R\"sdt(${text})sdt\"\n")
