/*
 * -I names another folder that is searched for headers.
 * @flags: -qC -I include
 */
#include <other.h>
BEGIN { printf("%d\n", OTHER); exit(0); }
