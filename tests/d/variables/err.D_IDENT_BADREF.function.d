/* A subroutine cannot be read like a variable. */
BEGIN { x = strlen; }
