# Libraries from Debian packages; tests/packages.txt names the packages.
find_package(PkgConfig REQUIRED)
pkg_check_modules(CAPSTONE REQUIRED IMPORTED_TARGET capstone)
pkg_check_modules(URCU REQUIRED IMPORTED_TARGET liburcu-memb liburcu-cds)
pkg_check_modules(UNWIND REQUIRED IMPORTED_TARGET libunwind libunwind-ptrace libunwind-generic)
pkg_check_modules(ELF REQUIRED IMPORTED_TARGET libelf libdw)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
