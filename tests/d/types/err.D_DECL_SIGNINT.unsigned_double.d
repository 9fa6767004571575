/* A floating-point type cannot be signed or unsigned. */
unsigned double d;
BEGIN { exit(0); }
