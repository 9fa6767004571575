/* #include is refused without -C. */
#include <stdio.h>
BEGIN { exit(0); }
