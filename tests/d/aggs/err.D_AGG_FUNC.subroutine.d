/* An aggregation takes no subroutine. */
BEGIN { @a = strlen("a"); }
