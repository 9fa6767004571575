# Converts a part of dtrace/sdt.h to a C++ string. `dtrace -h` also writes this part to
# each header:
#   cmake -DHEADER=sdt.h -DOUT=sdt_note.inc -P sdt_note.cmake
file(READ ${HEADER} text)
set(before "/* dtrace -h also writes the following lines to each header. */\n")
string(FIND "${text}" "${before}" begin)
string(FIND "${text}" "/* End of the lines that dtrace -h also writes to each header. */\n" end)
if(begin EQUAL -1 OR end LESS begin)
  message(FATAL_ERROR "${HEADER} lacks the comments around the lines that dtrace -h writes to each header")
endif()
string(LENGTH "${before}" length)
math(EXPR begin "${begin} + ${length}")
math(EXPR length "${end} - ${begin}")
string(SUBSTRING "${text}" ${begin} ${length} text)
file(WRITE ${OUT} "R\"sdt(${text})sdt\"\n")
