/* This library is loaded after shapes.d, although its name sorts first. */
#pragma D depends_on library shapes.d
translator area_t < struct shape *s > { square = s->width * s->height; side = SIDES; };
