/*
 * Two headers cannot declare the same type differently.
 * @flags: -C
 */
#include "shapes.h"
#include "shapes_again.h"
BEGIN { exit(0); }
