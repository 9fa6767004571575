/* A subroutine cannot be assigned to an aggregation. */
BEGIN { @a = strlen("a"); }
