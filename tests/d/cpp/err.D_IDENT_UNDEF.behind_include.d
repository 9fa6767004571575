/*
 * An error after an #include is reported with its line in the script.
 * @flags: -C
 */
#include "shapes.h"

BEGIN { trace(CORNERS); trace(nothing); exit(0); }
