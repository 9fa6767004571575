/*
 * -I names another folder to look for headers in.
 * @flags: -qC -I include
 */
#include <other.h>
BEGIN { printf("%d\n", OTHER); exit(0); }
