/* A string cannot be assigned to an integer variable. */
int x;
BEGIN { x = "a"; }
