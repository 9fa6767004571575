/* Control lines of the preprocessor are not D's. */
#include <stdio.h>
BEGIN { exit(0); }
