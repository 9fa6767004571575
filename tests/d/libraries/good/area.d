/* Comes behind what it depends on, though its name does not. */
#pragma D depends_on library shapes.d
translator area_t < struct shape *s > { square = s->width * s->height; side = SIDES; };
