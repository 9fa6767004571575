/* An unknown D pragma is refused. */
#pragma D nonsense
BEGIN { exit(0); }
