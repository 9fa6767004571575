/* A void pointer has no elements. */
void *p;
BEGIN { x = p[1]; }
