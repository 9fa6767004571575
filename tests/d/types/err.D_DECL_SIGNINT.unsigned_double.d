/* A floating-point type has no sign attribute. */
unsigned double d;
BEGIN { exit(0); }
