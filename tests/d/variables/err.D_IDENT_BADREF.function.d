/* A subroutine is not read like a variable. */
BEGIN { x = strlen; }
