/* A number takes no string. */
int x;
BEGIN { x = "a"; }
