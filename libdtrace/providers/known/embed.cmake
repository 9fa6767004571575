# Writes all D files of the directory FOLDER into one C++ table: {"NAME", R"D(text)D"}, ...
file(GLOB files ${FOLDER}/*.d)
set(table "")
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND table "{\"${name}\", R\"D(${text})D\"},\n")
endforeach()
file(WRITE ${OUT} "${table}")
