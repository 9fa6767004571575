/* A D pragma is one that is known. */
#pragma D nonsense
BEGIN { exit(0); }
