/* A pointer leaves no remainder. */
int *p;
BEGIN { x = p % 3; }
