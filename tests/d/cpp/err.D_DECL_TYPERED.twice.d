/*
 * Nor may two headers differ.
 * @flags: -C
 */
#include "shapes.h"
#include "shapes_again.h"
BEGIN { exit(0); }
