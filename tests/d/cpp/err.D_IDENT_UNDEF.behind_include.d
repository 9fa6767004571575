/*
 * An error after an included header is reported with the script's own line.
 * @flags: -C
 */
#include "shapes.h"

BEGIN { trace(CORNERS); trace(nothing); exit(0); }
