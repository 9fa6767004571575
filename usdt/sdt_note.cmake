# The part of dtrace/sdt.h that the headers of `dtrace -h` have in them, as a string of C++:
#   cmake -DHEADER=sdt.h -DOUT=sdt_note.inc -P sdt_note.cmake
file(READ ${HEADER} text)
string(FIND "${text}" "#ifndef DTRACE_SDT_NOTE_\n" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "${HEADER} has no #ifndef DTRACE_SDT_NOTE_")
endif()
string(SUBSTRING "${text}" ${begin} -1 text)
string(FIND "${text}" "\n#endif\n" end)
math(EXPR end "${end} + 8")
string(SUBSTRING "${text}" 0 ${end} text)
file(WRITE ${OUT} "R\"sdt(${text})sdt\"\n")
