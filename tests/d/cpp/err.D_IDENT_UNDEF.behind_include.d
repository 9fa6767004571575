/*
 * An error behind an included header has the script's own line.
 * @flags: -C
 */
#include "shapes.h"

BEGIN { trace(CORNERS); trace(nothing); exit(0); }
